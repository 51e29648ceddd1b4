"""HTML for people: one page a submission, one for the class."""

from collections import Counter
from html import escape

from coursework import tables

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --bad: #b3261e; --good: #1b6e3c }
@media (prefers-color-scheme: dark) { :root { --bad: #ff9b8f; --good: #86d9a2 } }
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
p, li, h1, h2, pre, blockquote, td:last-child { overflow-wrap: anywhere }  /* long file names */
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: left;
  vertical-align: top }
.said { border-left: 4px solid var(--bad); padding: .4rem .8rem; background: var(--soft) }
.good { color: var(--good) } .bad { color: var(--bad) }
pre { white-space: pre-wrap; background: var(--soft); padding: .6rem; font-size: .85rem }
.track { width: 14rem; max-width: 30vw }
.bar { background: currentColor; height: .9rem; min-width: 2px; opacity: .55 }
.scroll { overflow-x: auto }
"""


def feedback(result):
    """What one student reads."""
    h = [_head(f"{result['assignment'].upper()}: feedback for {result['name']}")]
    h.append(
        f"<h1>{_e(result['assignment'].upper())}: {_points(tables.total(result))} of "
        f"{_points(tables.possible(result))} points</h1>"
    )
    h.append(f"<p>{_e(result['name'])}{', ' + _e(result['file']) if result['file'] else ''}</p>")
    if tables.unread(result):
        h.append("<p>A written answer has not been read yet: its points are still to come.</p>")
    if result["reason"]:
        h.append(f"<p class=said>This could not be graded: {_e(result['reason'])}.</p>")
    h += [f"<p>Note: {_e(note)}.</p>" for note in result["notes"]]
    if result["cells"]:
        h.append("<h2>Cells that stopped</h2><ul>")
        h += [f"<li>cell {c['cell']}: {_e(c['error'])}</li>" for c in result["cells"]]
        h.append("</ul>")
    for q in result["questions"]:
        points = f"{_points(q['score'])} of {_points(q['max_score'])}"
        h.append(f"<h2>{_called(q)}: {points}</h2>")
        reasons = q["feedback"] or filter(None, [tables.stopped(result, q)])
        h += [f"<p class=said>{_e(sentence)}</p>" for sentence in reasons]
        if q["note"]:
            h.append(f"<p>Note: {_e(q['note'])}.</p>")
        if not result["reason"]:
            h.append(_checks(q))
    for w in result["written"]:
        score = "not read yet" if w["score"] is None else f"{_points(w['score'])}"
        h.append(f"<h2>{_called(w)}, in words: {score} of {_points(w['max_score'])}</h2>")
        h.append(f"<blockquote>{_e(w['answer']) or 'no answer'}</blockquote>")
        if w["comment"]:
            h.append(f"<p class=said>{_e(w['comment'])}</p>")
    return "\n".join(h) + "\n"


def _called(q):
    place = f"Task {_e(q['label'])}, " if q["label"] else ""
    return f"{place}<code>{_e(q['name'])}</code>"


def _checks(q):
    if q["score"] == q["max_score"]:
        return "<p class=good>All checks passed.</p>"
    rows = ["<table><tr><th scope=col>Check<th scope=col>Points<th scope=col>Result"]
    for c in q["checks"]:
        if c["passed"]:
            said = "<span class=good>passed</span>"
        elif q["feedback"]:  # a hint would point elsewhere than the mistake that was found
            said = "<span class=bad>failed</span>, for the reason above"
        else:
            said = f"<span class=bad>failed</span>. {_e(c['message'])}" + _values(c["values"])
        rows.append(
            f"<tr><td>{_e(c['name'])}<td>{_points(c['score'])} of "
            f"{_points(c['max_score'])}<td>{said}"
        )
    return "\n".join(rows) + "</table>"


def _values(values):
    labels = (("input", "called as"), ("yours", "your value"), ("right", "right value"))
    return "".join(
        f"<div>{label}</div><pre>{_e(values[key])}</pre>" for key, label in labels if values
    )


def class_summary(results):
    """What the instructor reads: how many points, which tasks, which mistakes."""
    h = [_head("Class summary")]
    if not results:
        return "\n".join([*h, "<h1>Class summary</h1><p>No submissions.</p>"]) + "\n"
    name, highest = results[0]["assignment"].upper(), tables.possible(results[0])
    scores = sorted(tables.total(r) for r in results)
    middle = (scores[(len(scores) - 1) // 2] + scores[len(scores) // 2]) / 2
    unread = tables.counted(sum(map(tables.unread, results)), "written answer")
    h.append(f"<h1>{_e(name)}: {tables.counted(len(results), 'submission')}</h1>")
    h.append(
        f"<p>Median {_points(middle)} of {_points(highest)} points; "
        f"lowest {_points(scores[0])}, highest {_points(scores[-1])}. "
        f"{unread} still to be read.</p>"
    )
    h.append(_histogram(scores, highest))
    rows = [
        (
            _called(q),
            sum(r["questions"][i]["score"] for r in results) / len(results),
            q["max_score"],
        )
        for i, q in enumerate(results[0]["questions"])
    ]
    h.append(
        _table(
            "Tasks: average points",
            ("Task", "Average", "Of", ""),
            [
                (task, f"{average:.2f}", _points(most), _bar(average / most))
                for task, average, most in rows
            ],
        )
    )
    made, together, sentences = Counter(), Counter(), {}
    for r in results:
        for q in r["questions"]:
            for name, sentence in zip(q["diagnosis"], q["feedback"], strict=True):
                made[q["name"], name] += 1
                together[q["name"], name] += len(q["diagnosis"]) > 1
                sentences.setdefault((q["name"], name), sentence)
    h.append(
        _table(
            "How many made which mistake",
            ("How many", "Task", "Mistake"),
            [
                (
                    f"{count}" + (f" ({together[key]} with another)" if together[key] else ""),
                    f"<code>{_e(key[0])}</code>",
                    f"<strong>{_e(key[1])}</strong><br>{_e(sentences[key])}",
                )
                for key, count in made.most_common()
            ],
        )
    )
    strange = Counter(
        q["name"]
        for r in results
        for q in r["questions"]
        if q["score"] < q["max_score"]
        and not q["diagnosis"]
        and not r["reason"]
        and any(c.get("values") for c in q["checks"])
    )
    if strange:
        h.append(
            "<p>Wrong in a way that no known mistake explains: "
            + ", ".join(f"{n} in <code>{_e(t)}</code>" for t, n in strange.most_common())
            + ". Look at these pages: a mistake made twice deserves a name.</p>"
        )
    odd = [r for r in results if r["reason"] or r["notes"]]
    if odd:
        h.append(
            _table(
                "Files to look at",
                ("Student", "What"),
                [(_link(r), _e("; ".join(filter(None, [r["reason"], *r["notes"]])))) for r in odd],
            )
        )
    h.append(
        _table(
            "Everybody",
            ("Student", "Points", "Mistakes"),
            [
                (_link(r), _points(tables.total(r)), _e("; ".join(tables.mistakes(r))))
                for r in results
            ],
        )
    )
    return "\n".join(h) + "\n"


def _histogram(scores, highest):
    bins = min(10, max(1, round(highest)))
    counts = Counter(min(int(s * bins / highest + 1e-9), bins - 1) for s in scores)
    most = max(counts.values())
    edges = [_points(round(i * highest / bins, 2)) for i in range(bins + 1)]
    rows = [
        (
            f"{edges[i]} to {'under ' if i < bins - 1 else ''}{edges[i + 1]}",
            str(counts[i]),
            _bar(counts[i] / most) if counts[i] else "",
        )
        for i in range(bins)
    ]
    return _table("Points", ("Points", "Submissions", ""), rows)


def _bar(share):
    width = f"{max(share, 0) * 100:.0f}%"
    return f"<div class=track><div class=bar style='width:{width}'></div></div>"


def _table(caption, head, rows):
    cells = "".join(f"<th scope=col>{c}" for c in head)
    body = "".join("\n<tr>" + "".join(f"<td>{c}" for c in row) for row in rows)
    return (
        f"<h2>{caption}</h2>\n<div class=scroll><table><tr>{cells}{body}</table></div>"
        if rows
        else f"<h2>{caption}</h2><p>None.</p>"
    )


def _link(r):
    return f'<a href="feedback/{_e(r["student"])}.html">{_e(r["name"])}</a>'


def _head(title):
    return (
        "<!doctype html>\n<html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{_e(title)}</title><style>{STYLE}</style>"
    )


def _points(x):
    return f"{x:g}"


def _e(text):
    return escape(str(text))
