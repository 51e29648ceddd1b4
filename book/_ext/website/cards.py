"""Social cards: the picture that a chat or a feed shows for a link.

Each is the page's title beside a real attention map, drawn with the text font of the site.  A card
is named after what is on it, so an unchanged title costs nothing at the next build.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont
from PIL import Image, ImageDraw, ImageFont

from attention_utils import attention_weights, causal_mask

from . import assets, palette

SIZE = (1200, 630)
MARGIN = 80


@lru_cache(1)
def typeface() -> bytes:
    font = TTFont(assets.TEXT_FONTS["serif"])
    instantiateVariableFont(font, {"wght": 640}, inplace=True)
    font.flavor = None
    buffer = BytesIO()
    font.save(buffer)
    return buffer.getvalue()


def letters(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(BytesIO(typeface()), size)


def drawable(text: str) -> str:
    """The text without characters that the font lacks, such as Chinese ones."""
    known = TTFont(BytesIO(typeface())).getBestCmap()
    return "".join(letter for letter in text if ord(letter) in known).strip(" ,–")


def lines(text: str, font: ImageFont.FreeTypeFont, width: int) -> list[str]:
    done, line = [], ""
    for word in text.split():
        if line and font.getlength(f"{line} {word}") > width:
            done.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*done, line]


def draw(title: str, site: str) -> Image.Image:
    colours = palette.LIGHT
    card = Image.new("RGB", SIZE, colours["page"])
    pen = ImageDraw.Draw(card)
    # A causal map of eight positions whose keys are their distances.
    steps = [[-0.35 * abs(3 - (i - j)) for j in range(8)] for i in range(8)]
    weights = attention_weights([[1.0]] * 8, [[1.0]] * 8, bias=steps, mask=causal_mask(8), scale=1)
    cell = 46
    left, top = SIZE[0] - MARGIN - 8 * cell, (SIZE[1] - 8 * cell) // 2
    for i in range(8):
        for j in range(i + 1):
            share = float(weights[i, j] / weights[i].max()) * 0.9
            box = (
                left + j * cell,
                top + i * cell,
                left + (j + 1) * cell - 5,
                top + (i + 1) * cell - 5,
            )
            fill = palette.mix(colours["au-1"], colours["page"], 0.08 + share)
            pen.rounded_rectangle(box, 6, fill=fill)
    width = left - MARGIN - 60
    for size in (76, 64, 54, 46):
        font = letters(size)
        rows = lines(drawable(title), font, width)
        if len(rows) <= 4 and max(map(font.getlength, rows)) <= width:
            break
    y = (SIZE[1] - len(rows) * size * 1.16) / 2 - 20
    for row in rows:
        pen.text((MARGIN, y), row, fill=colours["ink"], font=font)
        y += size * 1.16
    pen.text((MARGIN, SIZE[1] - MARGIN - 20), site, fill=colours["muted"], font=letters(30))
    return card


def path_for(title: str, site: str) -> str:
    digest = hashlib.sha256(f"{title}\n{site}".encode()).hexdigest()[:10]
    return f"_static/cards/{digest}.png"


def write(outdir: str, title: str, site: str) -> str:
    """Draw the card unless it is there; return its path inside the site."""
    inside = path_for(title, site)
    target = Path(outdir) / inside
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draw(title, site).quantize(32).save(target, optimize=True)
    return inside
