"""The page in a real Chromium: typing, filters, reasons, hostile text, an empty index, a server that goes and comes."""

from __future__ import annotations

import json
import urllib.request
from urllib.parse import quote

import numpy as np
import pytest

import hi2
from server.browser import Page, chromium, programs, serving

programs()
from selenium.webdriver.common.keys import Keys  # noqa: E402 - only where there is a browser

STORIES = [
    ("A whale and a captain", "The captain hunts a white whale over all oceans.", "novel", 1851, ["sea", "hunt"]),
    ("The island", "A boy finds a map of treasure on an island.", "novel", 1883, ["sea"]),
    ("Song of the train", "A train leaves the station in the rain.", "it's a \\ song", 1930, ["rail"]),
    ("Bread", "Bread is baked with flour, water and **salt** in a hot oven.", "recipe", 1999, ["food"]),
    ("Pear cake", "A cake with pears needs butter, sugar and flour.", "recipe", 2004, ["food", "sweet"]),
    *(
        (f"Letter {i}", f"Letter number {i} from the harbour of Bremen.", "letter", 1700 + i, ["mail"])
        for i in range(60)
    ),
]
HOSTILE = '<img src=x onerror="window.__x=1"><script>window.__x=1</script><b id=made>bold</b>'


@pytest.fixture(scope="module")
def collections(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    encoder = hi2.StaticEncoder()
    payload = [
        {"title": title, "kind": kind, "year": year, "tags": tags, "draft": year == 1930, "made in": "Bremen"}
        for title, _, kind, year, tags in STORIES
    ]
    texts = [text for _, text, *_ in STORIES]
    with hi2.HybridIndex.build(texts=texts, encoder=encoder, payload=payload, path=folder / "stories.hi2") as stories:
        stories.tune(texts, budget=30, k=10, name="quick")
        stories.commit()
    hi2.HybridIndex.build(
        texts=[f"plain words {HOSTILE}", "plain words too"],
        ids=[HOSTILE, "harmless"],
        payload=[{"title": HOSTILE, HOSTILE: HOSTILE, "tags": [HOSTILE]}, {"tags": [HOSTILE]}],
        encoder=encoder,
        path=folder / "hostile.hi2",
    ).close()
    vectors = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    large = [2**60 + 1, 2**60 + 2, 2**60 + 3]
    hi2.HybridIndex.build(
        vectors, ["red apple", "green apple", "blue sky"], ids=large, path=folder / "vectors.hi2"
    ).close()
    for name in ("empty", "growing"):
        hi2.HybridIndex.create(encoder=encoder, path=folder / f"{name}.hi2").close()
    return {path.stem: path for path in folder.glob("*.hi2")}


@pytest.fixture(scope="module")
def url(collections):
    with serving(*(collections[name] for name in ("stories", "hostile", "vectors", "empty", "growing"))) as url:
        yield url


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


@pytest.fixture
def page(driver, url):
    """The page of the server; at the end, the browser must have complained of nothing but refused requests."""
    page = Page(driver, url)
    yield page
    assert page.errors() == []
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# -- search -----------------------------------------------------------------------------------------------------------


def test_typing_gives_results_and_marks_the_words_that_matched(page):
    page.open("#/search?c=stories")
    page.until(lambda: "Search 65 documents" in page.text("#note"))
    page.type("white whale")
    page.wait_for_titles("A whale and a captain")
    first = page.one(".hit")
    assert [own.text for own in first.find_elements("css selector", "mark")] == ["white", "whale"]
    assert "The captain hunts a white whale" in first.find_element("css selector", ".snippet").text
    assert page.until(lambda: "10 hits · " in page.text("#status"))
    assert "of 65 documents scored" in page.text("#status")
    assert page.text("#status").endswith(" ms")
    page.type("bread")
    page.wait_for_titles("Bread")
    page.one("#query").send_keys(Keys.BACKSPACE * 5)
    page.until(lambda: not page.titles() and "Search 65 documents" in page.text("#note"))


def test_asterisks_of_a_document_are_not_taken_for_marks(page):
    page.open("#/search?c=stories&q=hot+flour")
    page.wait_for_titles("Bread")
    assert "with flour, water and **salt** in a hot oven." in page.text(".hit .snippet")
    marked = page.script(
        "return [...document.querySelector('.hit').querySelectorAll('mark')].map((own) => own.textContent)"
    )
    assert marked == ["flour", "hot"]


def test_a_hit_shows_its_payload_and_its_two_scores(page):
    page.open("#/search?c=stories&q=pear+cake")
    page.wait_for_titles("Pear cake")
    first = page.one(".hit")
    assert "kind\nrecipe" in first.text
    assert "tags\nfood, sweet" in first.text
    shown = first.find_element("css selector", ".scores").text
    total, dense, words = (float(shown.replace("\n", " ").split()[at]) for at in (1, 3, 6))
    assert total == pytest.approx(dense + words, abs=0.002)
    widths = page.script(
        "return [...document.querySelector('.hit').querySelectorAll('.scores .part')].map((own) => own.offsetWidth)"
    )
    assert widths[0] / sum(widths) == pytest.approx(dense / total, abs=0.05)


def test_more_hits_follow_on_demand(page):
    page.open("#/search?c=stories&q=letter+harbour&k=20")
    page.until(lambda: len(page.titles()) == 20)
    page.one("#more").click()
    page.until(lambda: len(page.titles()) == 40)
    assert len(set(page.titles())) == 40
    page.until(lambda: page.text("#status").startswith("40 hits"))


def test_options_are_sent_and_stand_in_the_address(page):
    page.open("#/search?c=stories&q=whale")
    page.wait_for_titles("A whale and a captain")
    page.one("#lexical-default").click()
    page.one("#lexical").send_keys(Keys.HOME)
    page.until(lambda: "vectors alone" in page.text(".hit .scores"))
    assert "lexical=0" in page.driver.current_url
    page.one("#k").send_keys("3")
    page.until(lambda: len(page.titles()) == 3)
    page.one("#clusters").send_keys("60")
    page.until(lambda: "clusters=60" in page.driver.current_url)
    page.driver.refresh()
    page.until(lambda: len(page.titles()) == 3)
    assert page.one("#clusters").get_attribute("value") == "60"
    assert "vectors alone" in page.text(".hit .scores")


def test_a_profile_is_chosen_and_explained(page):
    page.open("#/search?c=stories&q=whale")
    page.wait_for_titles("A whale and a captain")
    next(own for own in page.all("#profile option") if own.text == "quick").click()
    page.until(lambda: "vectors alone" in page.text(".hit .scores"))  # as profiles without labels rank
    page.one(".why-button").click()
    page.until(lambda: "was found at rank 1" in page.text(".why"))


def test_back_leads_to_the_query_before(page):
    page.open("#/search?c=stories&q=bread")
    page.wait_for_titles("Bread")
    page.type("white whale")
    page.wait_for_titles("A whale and a captain")
    page.driver.back()
    page.wait_for_titles("Bread")
    assert page.one("#query").get_attribute("value") == "bread"


def test_a_collection_without_an_encoder_is_searched_by_words_and_says_so(page):
    page.open("#/search?c=vectors&q=green")
    page.wait_for_titles(str(2**60 + 2))
    assert "by words alone" in page.text("#status")
    assert "words alone" in page.text(".hit .scores")
    page.one(".why-button").click()
    page.until(lambda: "'green'" in page.text(".why"))


def test_a_busy_server_is_asked_again(page):
    page.open("#/search?c=stories")
    page.until(lambda: page.all("#note h3"))
    page.script("""
        const real = window.fetch; let first = true;
        window.fetch = (path, options) => {
          if (!path.endsWith("/search") || !first) return real(path, options);
          first = false;
          return Promise.resolve(new Response('{"detail": "busy"}', {status: 429, headers: {"retry-after": "1"}}));
        };""")
    page.script("document.querySelector('#query').value = 'bread'")
    page.press(Keys.END, "s")
    page.until(lambda: "The server is busy; trying again in 1 second" in page.text("#status"))
    page.wait_for_titles("Bread")


# -- filters ----------------------------------------------------------------------------------------------------------


def test_a_facet_filters_and_counts_the_others(page):
    page.open("#/search?c=stories&q=a+story")
    page.until(lambda: page.all(".facet[data-column='tags'] label"))
    page.pick("kind", "recipe")
    page.until(lambda: sorted(page.titles()) == ["Bread", "Pear cake"])
    page.until(lambda: page.text(".facet[data-column='tags']").split("\n")[1:] == ["food", "2", "sweet", "1"])
    page.pick("tags", "sweet")
    page.until(lambda: page.titles() == ["Pear cake"])
    page.driver.refresh()
    page.until(lambda: page.titles() == ["Pear cake"])
    page.one("#clear").click()
    page.until(lambda: len(page.titles()) == 10)


def test_a_value_with_quotes_and_a_column_with_a_space_filter_too(page):
    page.open("#/search?c=stories&q=a+story")
    page.pick("kind", "it's a \\ song")
    page.until(lambda: page.titles() == ["Song of the train"])
    page.pick("made in", "Bremen")
    page.pick("kind", "novel")
    page.until(lambda: len(page.titles()) == 3)
    page.pick("draft", "true")
    page.until(lambda: page.titles() == ["Song of the train"])
    assert page.text("#where-problem") == ""


def test_a_column_of_many_numbers_is_a_range(page):
    page.open("#/search?c=stories&q=a+story")
    page.until(lambda: page.all(".facet[data-column='year'] input"))
    page.one(".facet[data-column='year'] input").send_keys("1990")
    page.until(lambda: sorted(page.titles()) == ["Bread", "Pear cake"])


def test_a_bad_filter_is_explained_beside_its_field(page):
    page.open("#/search?c=stories&q=whale")
    page.wait_for_titles("A whale and a captain")
    page.one("#where").send_keys("year >")
    page.until(lambda: "at character 7" in page.text("#where-problem"))
    assert page.one("#where").get_attribute("aria-invalid") == "true"
    page.one("#where").send_keys(" 1990")
    page.until(lambda: sorted(page.titles()) == ["Bread", "Pear cake"])
    assert page.text("#where-problem") == ""


# -- why --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filter", ["", "&where=year+%3E+1800"], ids=["plain", "filtered"])
def test_why_shows_words_clusters_and_terms(page, filter):
    page.open(f"#/search?c=stories&q=captain+whale+zebra{filter}")
    page.wait_for_titles("A whale and a captain")
    button = page.one(".why-button")
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    page.until(lambda: page.all(".why table"))
    assert button.get_attribute("aria-expanded") == "true"
    assert "was found at rank 1" in page.text(".why .said")
    captions = [own.text for own in page.all(".why caption")]
    assert captions[0] == "Words of the query"
    assert "Terms that it is filed under" in captions
    words = page.text(".why table").split("\n")
    assert any(line.startswith("whale 0.") or line == "whale" for line in words)
    button.click()
    assert not page.one(".why").is_displayed()


# -- text that must not run -------------------------------------------------------------------------------------------


def test_markup_in_documents_and_queries_is_shown_as_text_and_does_not_run(page):
    page.open(f"#/search?c=hostile&q={quote('plain words ' + HOSTILE)}")
    page.until(lambda: HOSTILE in page.titles())
    page.until(lambda: page.all(".facet[data-column='tags'] label"))
    assert HOSTILE[:50] in page.text(".facet[data-column='tags']")
    at = page.titles().index(HOSTILE)
    hit = page.all(".hit")[at]
    assert hit.find_element("css selector", ".id").text == HOSTILE
    assert "plain words <img src=x onerror" in hit.find_element("css selector", ".snippet").text
    hit.find_element("css selector", ".why-button").click()
    page.until(lambda: hit.find_elements("css selector", ".why .said"))
    page.one("#where").send_keys(HOSTILE)
    page.until(lambda: page.text("#where-problem"))
    page.type(HOSTILE)
    page.one("#where").clear()
    page.one("#where").send_keys("tags exists")
    page.until(lambda: "tags+exists" in page.driver.current_url and page.titles())
    assert page.script("return window.__x === undefined")
    assert page.all("#made, img[src='x'], main script, main b") == []


# -- the state of the server ------------------------------------------------------------------------------------------


def test_an_empty_collection_says_how_to_add_a_document_and_notices_one(page):
    page.open("#/search?c=growing")
    page.until(lambda: "The collection growing is empty" in page.text("#note"))
    assert f"curl -X POST {page.url}/v1/collections/growing/documents" in page.text("#note pre")
    page.type("anything")
    page.until(lambda: page.text("#status") == "This collection is empty.")
    body = json.dumps({"documents": [{"id": "1", "text": "anything at all", "payload": {"title": "First"}}]})
    asked = urllib.request.Request(
        f"{page.url}/v1/collections/growing/documents?wait=commit", body.encode(), {"content-type": "application/json"}
    )
    urllib.request.urlopen(asked).close()
    page.wait_for_titles("First")


def test_a_server_that_goes_away_and_comes_back_is_found_again_without_a_reload(page, collections):
    with serving(collections["stories"]) as url:
        page = Page(page.driver, url)
        page.open("#/search?c=stories&q=bread")
        page.wait_for_titles("Bread")
        page.script("window.stayed = true")
    page.type("white whale")
    page.until(lambda: "The server does not answer; trying again." in page.text("#banner"))
    assert page.titles()[0] == "Bread"
    with serving(collections["stories"], port=url.rsplit(":", 1)[1]):
        page.wait_for_titles("A whale and a captain")
        assert page.text("#banner") == ""
        assert page.one("#query").get_attribute("value") == "white whale"
        assert page.script("return window.stayed")


def test_a_token_opens_the_page_and_its_loss_is_said(page, collections, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("read correct-horse-battery-staple\n")
    with serving(collections["stories"], "--token-file", tokens) as url:
        page = Page(page.driver, url)
        page.open()
        page.one("input[name=token]").send_keys("wrong" + Keys.ENTER)
        page.until(lambda: "This token is not known." in page.text("[role=alert]"))
        page.one("input[name=token]").send_keys("correct-horse-battery-staple" + Keys.ENTER)
        page.until(lambda: "Search 65 documents" in page.text("#note"))
        page.type("bread")
        page.wait_for_titles("Bread")
        page.driver.delete_all_cookies()
        page.type("whale")
        page.until(lambda: "A token is needed." in page.text("#banner"))
        page.one("#banner a").click()
        page.until(lambda: page.all("input[name=token]"))


def test_the_index_view_shows_segments_bytes_health_and_drift(page):
    page.open("#/search?c=stories")
    page.one("#to-index").click()
    page.until(lambda: page.all(".sizes"))
    headings = [own.text for own in page.all("#index-body h2")]
    assert headings == ["Health", "Drift since the fit", "In short", "Bytes by part", "How even the lists are", "Parts"]
    shown = page.text("#index-body")
    assert "Documents\n65" in shown
    assert "Segments\n1" in shown
    assert "text and payload stored" in shown
    assert "No document came after the fit." in shown
    page.driver.refresh()
    page.until(lambda: page.all(".sizes"))
    page.one("#to-search").click()
    page.until(lambda: page.one("#query").is_displayed())


def test_nothing_is_requested_from_another_host(page):
    page.open("#/search?c=stories&q=bread")
    page.wait_for_titles("Bread")
    page.one("#to-index").click()
    page.until(lambda: page.all(".sizes"))
    names = page.script("return performance.getEntriesByType('resource').map((own) => own.name)")
    assert len(names) > 10
    assert [name for name in names if not name.startswith(f"{page.url}/")] == []


# -- for everyone -----------------------------------------------------------------------------------------------------


def test_the_keyboard_leads_everywhere(page):
    page.open("#/search?c=stories&q=letter")
    page.until(lambda: len(page.titles()) == 10)

    def focused():
        return page.script("return document.activeElement.id || document.activeElement.querySelector('h3')?.id")

    page.one("#query").click()
    page.press(Keys.ARROW_DOWN)
    assert focused() == "hit-1"
    page.press("j", Keys.ARROW_DOWN, "k")
    assert focused() == "hit-2"
    page.press(Keys.ENTER)
    page.until(lambda: "was found at rank 2" in page.text("#why-2"))
    page.press(Keys.ENTER)
    assert not page.one("#why-2").is_displayed()
    page.press(Keys.ESCAPE)
    assert focused() == "query"
    page.press(Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert focused() == "query"
    page.one("#theme").send_keys("/")
    assert focused() == "query"
    assert page.one("#query").get_attribute("value") == "letter"


def test_controls_have_names_and_the_page_has_landmarks(page):
    page.open("#/search?c=stories&q=letter")
    page.until(lambda: len(page.titles()) == 10)
    page.until(lambda: page.all(".facet[data-column='tags'] label"))
    unnamed = [
        own.get_attribute("outerHTML")
        for own in page.all("button, input, select, a, summary")
        if own.is_displayed() and not own.accessible_name
    ]
    assert unnamed == []
    assert {own.aria_role for own in page.all("header, nav, main, aside, form, #status")} >= {
        "banner",
        "navigation",
        "main",
        "complementary",
        "search",
        "status",
    }
    assert page.one("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("address", ["#/search?c=stories&q=letter", "#/search?c=empty", "#/index?c=stories"])
def test_a_phone_needs_no_sideways_scrolling(page, address):
    page.resize(360, 740)
    page.open(address)
    page.until(lambda: page.titles() or page.all(".sizes, #note pre"))
    assert page.fits()
    if page.titles():
        assert not page.one("#where").is_displayed()
        page.one("#panel > summary").click()
        page.until(lambda: page.all(".facet[data-column='tags'] label"))
        page.one(".why-button").click()
        page.until(lambda: page.all(".why table"))
        assert page.fits()


def test_dark_colours_follow_the_system_until_a_person_chooses(page):
    def ground():
        return page.script("return getComputedStyle(document.documentElement).backgroundColor")

    def system(colours):
        features = [{"name": "prefers-color-scheme", "value": colours}]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    system("light")
    page.open("#/search?c=stories")
    light = ground()
    system("dark")
    dark = page.until(lambda: ground() != light and ground())
    page.one("#theme").click()
    assert ground() == light
    page.driver.refresh()
    assert ground() == light
    page.one("#theme").click()
    assert ground() == dark
    page.script("localStorage.clear()")
    system("")
