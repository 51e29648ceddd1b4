"""The colours of the site, light and dark, as data: the stylesheet and the contrast test both read
them here.

Six figure colours ``au-1`` … ``au-6`` follow Okabe and Ito's colour-blind-safe hues, shifted in
lightness until each is visible on its theme's page.  Texts are written in ``ink`` and ``muted``; an
attention map mixes ``au-map`` into the page in proportion to the weight, up to `STRONGEST`, and
``ink`` must be legible on every such mixture.
"""

from __future__ import annotations

STRONGEST = 0.6  # as attention_utils.maps and the stylesheet have it

LIGHT = {
    "page": "#fdfcf9",
    "panel": "#f5f2ea",
    "ink": "#20242a",
    "muted": "#5c6068",
    "rule": "#e2ddd0",
    "edge": "#85806f",
    "link": "#0a5a92",
    "visited": "#69489a",
    "good": "#17663d",
    "bad": "#a63a12",
    "mark": "#ffe9a8",
    "code-keyword": "#8a2c6d",
    "code-string": "#17663d",
    "code-number": "#8a4b00",
    "code-comment": "#686456",
    "code-name": "#0a5a92",
    "au-ink": "#20242a",
    "au-muted": "#5c6068",
    "au-grid": "#908b7c",
    "au-panel": "#f5f2ea",
    "au-map": "#2f7fd6",
    "au-1": "#0067a5",
    "au-2": "#bd4b00",
    "au-3": "#00946a",
    "au-4": "#a5437b",
    "au-5": "#9a6700",
    "au-6": "#2f86bd",
}

DARK = {
    "page": "#14171b",
    "panel": "#1d2127",
    "ink": "#e7e3da",
    "muted": "#a8a59c",
    "rule": "#30353d",
    "edge": "#7c8088",
    "link": "#7fbdf0",
    "visited": "#b9a0e6",
    "good": "#6fcf97",
    "bad": "#f2966b",
    "mark": "#5a4a12",
    "code-keyword": "#e69ac6",
    "code-string": "#86cf9f",
    "code-number": "#e8b36a",
    "code-comment": "#9a978c",
    "code-name": "#7fbdf0",
    "au-ink": "#e7e3da",
    "au-muted": "#a8a59c",
    "au-grid": "#70757e",
    "au-panel": "#1d2127",
    "au-map": "#3b8ae0",
    "au-1": "#4aa3e6",
    "au-2": "#f28a4b",
    "au-3": "#5fe0b0",
    "au-4": "#e394c0",
    "au-5": "#e6b23e",
    "au-6": "#9ad4f7",
}


def channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def mix(front: str, back: str, share: float) -> str:
    """``color-mix(in srgb, front share, back)``, as the browser does it."""
    mixed = (
        round(share * f + (1 - share) * b)
        for f, b in zip(channels(front), channels(back), strict=True)
    )
    return "#" + "".join(f"{c:02x}" for c in mixed)


def luminance(colour: str) -> float:
    linear = (
        c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels(colour)
    )
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """WCAG contrast ratio, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def css() -> str:
    """The custom properties: the system's theme without a script, the reader's choice above it."""
    light, dark = (
        f"color-scheme: {name}; " + " ".join(f"--{key}: {colour};" for key, colour in theme.items())
        for name, theme in (("light", LIGHT), ("dark", DARK))
    )
    system = f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {dark} }} }}"
    chosen = f":root[data-theme=dark] {{ {dark} }}"
    return f":root {{ {light} }}\n@media screen {{\n{system}\n{chosen}\n}}\n"
