"""The modules of the site extension, each by itself."""

import json
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from website import (
    api,
    cards,
    contents,
    figures,
    maps,
    maths,
    pages,
    place,
    search,
    widgets,
    writer,
)


def model(name, **state):
    return {"model_name": f"{name}Model", "state": state}


def reader():
    """A slider that drives two frames, as ipywidgets saves it."""
    return {
        "box": model("VBox", children=["IPY_MODEL_slider", "IPY_MODEL_stack"]),
        "slider": model(
            "SelectionSlider", description="query", index=1, _options_labels=["it", "<pad>"]
        ),
        "stack": model("Stack", children=["IPY_MODEL_a", "IPY_MODEL_b"], selected_index=1),
        "a": model("HTML", value="<b>first</b>"),
        "b": model("HTMLMath", value="second, $x^2$"),
        "link": model(
            "Link",
            source=["IPY_MODEL_slider", "index"],
            target=["IPY_MODEL_stack", "selected_index"],
        ),
    }


class TestWidgets:
    def test_the_saved_frame_is_the_visible_one(self):
        html = widgets.Page(reader()).root("box")
        assert "<div inert><div" in html
        assert html.index("inert") < html.index("first") < html.index("second")

    def test_formulas_in_a_frame_are_rendered(self):
        html = widgets.Page(reader()).root("box")
        assert "$" not in html
        assert 'class="katex"' in html

    def test_the_control_has_a_label_and_says_its_option(self):
        html = widgets.Page(reader()).root("box")
        assert '<label for="w2">query</label>' in html
        assert 'aria-valuetext="&lt;pad&gt;"' in html

    def test_the_link_leads_from_control_to_stack(self):
        page = widgets.Page(reader())
        page.root("box")
        assert page.links("box") == [["w2", "index", "w3", "selected_index", 1]]

    def test_ids_depend_on_order_alone(self):
        renamed = {f"x{key}": value for key, value in reader().items()}
        text = json.dumps(renamed).replace("IPY_MODEL_", "IPY_MODEL_x")
        again = widgets.Page(json.loads(text)).root("xbox")
        assert again == widgets.Page(reader()).root("box")

    def test_an_unknown_model_fails(self):
        with pytest.raises(widgets.WidgetError, match="ColorPicker has no static form"):
            widgets.Page({"x": model("ColorPicker")}).root("x")

    def test_a_missing_state_fails(self):
        with pytest.raises(widgets.WidgetError, match="no saved state"):
            widgets.Page({}).root("gone")

    def test_a_control_without_a_name_fails(self):
        state = reader()
        state["slider"]["state"]["description"] = ""
        with pytest.raises(widgets.WidgetError, match="needs a description"):
            widgets.Page(state).root("box")


class TestMaths:
    def test_html_for_the_eye_and_mathml_for_the_ear(self):
        html = maths.render("d_k")
        assert "<math" in html
        assert 'aria-hidden="true"' in html

    def test_a_wrong_formula_is_an_error(self):
        with pytest.raises(maths.KaTeXError, match="Undefined control sequence"):
            maths.render(r"\sofmax")


class TestFigures:
    SVG = (
        '<?xml version="1.0"?><!DOCTYPE svg><svg class="au-figure" aria-label="A sentence">'
        '<style>*{stroke-linecap:butt}</style><defs><clipPath id="p1"/></defs>'
        '<path clip-path="url(#p1)"/><use xlink:href="#p1"/></svg>'
    )

    def test_only_the_drawing_is_left(self):
        html = figures.inline(self.SVG)
        assert html.startswith('<div class="drawing scroll"><svg class="au-figure"')
        assert "<style" not in html

    def test_ids_are_private_to_the_figure(self):
        other = figures.inline(self.SVG.replace("sentence", "fact"))
        ids = [html.split('id="')[1].split('"')[0] for html in (figures.inline(self.SVG), other)]
        assert ids[0] != ids[1]
        assert f"url(#{ids[0]})" in figures.inline(self.SVG)
        assert f'href="#{ids[0]}"' in figures.inline(self.SVG)


def page_with(*parts):
    document = new_document("page")
    section = nodes.section("", nodes.title("", "Rows"), *parts, ids=["rows"])
    document += section
    return document


class TestSearch:
    def test_formulas_raw_html_and_outputs_are_left_out(self):
        document = page_with(
            nodes.paragraph("", "", nodes.Text("Each row of "), nodes.math("", "x^2")),
            nodes.raw("", "<table>", format="html"),
            nodes.container("", nodes.literal_block("", "0.76"), classes=["cell_output"]),
            nodes.paragraph("", "sums to one."),
        )
        assert search.sections(document) == [["rows", "Rows", "Each row of sums to one."]]

    def test_a_subsection_has_its_own_entry(self):
        inner = nodes.section("", nodes.title("", "多头"), nodes.paragraph("", "heads"), ids=["h"])
        document = page_with(nodes.paragraph("", "outer"), inner)
        assert search.sections(document) == [["rows", "Rows", "outer"], ["h", "多头", "heads"]]


class TestPages:
    def test_a_description_is_cut_at_a_word(self):
        text = pages.summary(page_with(nodes.paragraph("", "word " * 60)))
        assert len(text) <= 156
        assert text.endswith("word…")

    def test_short_paragraphs_are_joined(self):
        document = page_with(nodes.paragraph("", "One."), nodes.paragraph("", "Two."))
        assert pages.summary(document) == "One. Two."

    def test_the_policy_names_the_only_inline_script(self):
        assert pages.policy().count("sha256-") == 1
        assert "unsafe-eval" not in pages.policy()


class TestMaps:
    table = '<table class="au-map" title="我"><th>我</th><td>0.5</td></table>'

    def test_a_map_gets_its_line_and_its_chinese_is_marked_outside_of_attributes(self):
        html = maps.present(self.table, None)
        assert '<th><span lang="zh-Hans">我</span></th>' in html
        assert 'title="我"' in html
        assert maps.HINT in html

    def test_other_outputs_are_left_alone(self):
        assert maps.present("<table><th>我</th></table>", None) is None
        assert maps.present(2 * self.table, None) is None


def test_a_number_stays_with_its_percent_sign():
    assert writer.PERCENT.sub("_%", "80 %, or %") == "80_%, or %"


class TestContents:
    def test_every_page_is_made_again_when_the_contents_change(self, tmp_path):
        app = SimpleNamespace(srcdir=tmp_path)
        env = SimpleNamespace(found_docs={"book/b", "book/a"})

        def outdated(toc):
            (tmp_path / "_toc.yml").write_text(toc)
            return contents.outdated(app, env, set(), set(), set())

        assert outdated("one chapter") == ["book/a", "book/b"]
        assert outdated("one chapter") == []
        assert outdated("two chapters") == ["book/a", "book/b"]
        assert outdated("two chapters") == []


class TestPlace:
    def test_no_repository_no_links(self, monkeypatch):
        monkeypatch.delenv("SITE_REPOSITORY", raising=False)
        assert place.open_in("chapters/a.ipynb") == []

    def test_links_lead_to_the_published_copy(self, monkeypatch):
        monkeypatch.setenv("SITE_REPOSITORY", "https://github.com/team/notes")
        monkeypatch.setenv("SITE_JUPYTERHUB", "https://hub.example")
        links = dict(place.open_in("chapters/a.ipynb"))
        colab = "https://colab.research.google.com/github/team/notes/blob/gh-pages/_sources/chapters/a.ipynb"
        assert links["Colab"] == colab
        assert links["Binder"].endswith("team/notes/gh-pages?labpath=_sources/chapters/a.ipynb")
        assert links["JupyterHub"].startswith("https://hub.example/hub/user-redirect/git-pull?")

    def test_the_published_copy_installs_the_package_once(self, tmp_path):
        import nbformat

        path = tmp_path / "a.ipynb"
        cell = nbformat.v4.new_markdown_cell("# Title", id="title")
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
        for _ in range(2):
            place.add_install_cell(path, "https://github.com/team/notes")
        cells = nbformat.read(path, as_version=4).cells
        assert [c.source for c in cells] == [
            "%pip install -q git+https://github.com/team/notes",
            "# Title",
        ]


class TestCards:
    def test_a_long_title_fits(self):
        card = cards.draw(
            "Why the variance of a dot product grows with the width of a key", "Notes"
        )
        assert card.size == cards.SIZE

    def test_letters_that_the_font_lacks_are_left_out(self):
        assert cards.drawable("Glossary, English–中文") == "Glossary, English"


class TestApi:
    def test_a_chapter_that_exists_becomes_a_link(self):
        env = SimpleNamespace(found_docs={"chapters/03_reading_by_row", "book/index"})
        lines = ["Derived in chapter 3, refined in chapter 9."]
        api.link_chapters(SimpleNamespace(env=env), "function", "softmax", None, None, lines)
        assert lines == [
            "Derived in :doc:`chapter 3 </chapters/03_reading_by_row>`, refined in chapter 9."
        ]

    def test_the_page_lists_every_public_name(self):
        import attention_utils
        from tests.site import ROOT

        page = (ROOT / "book" / "api.md").read_text()
        assert [n for n in attention_utils.__all__ if f":: {n}\n" not in page] == []
