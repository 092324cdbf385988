"""The report in a real browser: figures drawn, nothing fetched, no error, controls that do what they say."""

import json
import os
import shutil

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from gnomon.report.palette import DARK, LIGHT
from tests.report.fakes import VICIOUS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,1000",
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    browser, server = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")
    if not (browser and server):
        missing = "no Chromium or no chromedriver was found: apt-get install chromium chromium-driver"
        if os.environ.get("GNOMON_REQUIRE_BROWSER") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(server))
    yield driver
    driver.quit()


@pytest.fixture
def opened(driver, written):
    """Open a report as a newcomer would: light, wide, scripts on, nothing remembered; returns the driver."""

    def open_page(name, *, dark=False, width=1200, scripts=True):
        driver.get("about:blank")
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for log in ("browser", "performance"):
            driver.get_log(log)
        driver.get(written(name).as_uri())
        if scripts:
            wait(driver, lambda: driver.execute_script("return document.documentElement.dataset.ready"))
        return driver

    yield open_page
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    driver.execute_script("try { localStorage.clear() } catch (blocked) {}")


def wait(driver, condition):
    return WebDriverWait(driver, 20, poll_frequency=0.05).until(lambda _: condition())


def marks(driver, figure, kind="path"):
    """How many marks of series a live figure has."""
    return len(driver.find_elements(By.CSS_SELECTOR, f"[data-figure={figure}][data-live] .role-mark {kind}"))


def button(driver, label):
    return next(
        b for b in driver.find_elements(By.CSS_SELECTOR, "[data-label]") if b.get_attribute("data-label") == label
    )


def colour(driver, selector, name):
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    return driver.execute_script(script, selector, name)


def rgb(colour):
    return "rgb({}, {}, {})".format(*(int(colour[at : at + 2], 16) for at in (1, 3, 5)))


@pytest.mark.parametrize("name", ["one seed", "three seeds", "troubled", "analysed", "hostile"])
def test_every_figure_is_drawn_without_an_error_or_a_request(opened, name):
    driver = opened(name)
    for folded in driver.find_elements(By.CSS_SELECTOR, ".analysis"):
        assert not folded.find_elements(By.CSS_SELECTOR, "[data-live]")
        folded.find_element(By.TAG_NAME, "summary").click()
    wait(driver, lambda: not driver.find_elements(By.CSS_SELECTOR, "[data-figure]:not([data-live])"))
    figures = driver.find_elements(By.CSS_SELECTOR, "[data-figure]")
    assert len(figures) >= 4
    for figure in figures:
        assert figure.get_attribute("data-live") is not None
        drawn = marks(driver, figure.get_attribute("data-figure")), figure.size
        assert drawn[0] >= 1 and drawn[1]["width"] > 100 and drawn[1]["height"] > 100
    assert driver.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert sent and all(url.startswith("file:") for url in sent) and len(sent) == 1
    assert not [m for m in messages if m["method"] == "Network.webSocketCreated"]


def test_the_policy_blocks_code_from_strings_and_injected_scripts(opened):
    driver = opened("one seed")
    # From a timer, since what the driver itself evaluates is exempt from the page's policy.
    blocked = driver.execute_async_script(
        "const done = arguments[0];"
        "setTimeout(() => { try { done(Function('return 1')()) } catch (error) { done(error.name) } })"
    )
    assert blocked == "EvalError"
    driver.execute_script(
        "const s = document.createElement('script'); s.text = 'window.ran = 1'; document.body.append(s)"
    )
    assert driver.execute_script("return typeof window.ran") == "undefined"


def test_what_attacks_the_page_does_nothing(opened):
    """Text that would be code, everywhere: whatever is clicked, focused and pointed at, nothing runs or pops up."""
    driver = opened("hostile")
    for folded in driver.find_elements(By.CSS_SELECTOR, "details > summary"):
        driver.execute_script("arguments[0].click(); arguments[0].focus()", folded)
    for button in driver.find_elements(By.CSS_SELECTOR, "button, th[title], label"):
        driver.execute_script("arguments[0].click(); arguments[0].dispatchEvent(new Event('mouseover'))", button)
    with pytest.raises(NoAlertPresentException):
        _ = driver.switch_to.alert
    assert driver.execute_script("return typeof window.pwned") == "undefined"
    assert len(driver.find_elements(By.TAG_NAME, "script")) == 4
    handlers = "[onload], [onerror], [onclick], [onfocus], [onmouseover]"
    assert not driver.find_elements(By.CSS_SELECTOR, f"img, iframe, {handlers}")
    assert driver.get_log("browser") == []


def test_the_legend_hides_and_shows(opened):
    driver = opened("one seed")
    before = {figure: marks(driver, figure) for figure in ("length", "position", "training")}
    sinusoidal = button(driver, "sinusoidal")
    sinusoidal.click()
    assert sinusoidal.get_attribute("aria-pressed") == "false"
    wait(driver, lambda: all(marks(driver, figure) < count for figure, count in before.items()))
    names = driver.find_element(By.CSS_SELECTOR, "[data-figure=length] svg").text
    assert "sinusoidal" not in names and "rope" in names
    sinusoidal.click()
    wait(driver, lambda: {figure: marks(driver, figure) for figure in before} == before)
    assert sinusoidal.get_attribute("aria-pressed") == "true"


def test_the_legend_works_from_the_keyboard_and_alone(opened):
    driver = opened("one seed")
    before = marks(driver, "length")
    button(driver, "rope").send_keys(Keys.SPACE)
    wait(driver, lambda: marks(driver, "length") < before)
    ActionChains(driver).key_down(Keys.SHIFT).click(button(driver, "t5")).key_up(Keys.SHIFT).perform()
    shown = [b.get_attribute("data-label") for b in driver.find_elements(By.CSS_SELECTOR, "[aria-pressed=true]")]
    assert shown == ["t5"]
    driver.find_element(By.CSS_SELECTOR, "[data-show=holding]").click()
    shown = [b.get_attribute("data-label") for b in driver.find_elements(By.CSS_SELECTOR, "[aria-pressed=true]")]
    assert sorted(shown) == ["alibi", "t5"]
    driver.find_element(By.CSS_SELECTOR, "[data-show=all]").click()
    wait(driver, lambda: marks(driver, "length") == before)
    assert driver.get_log("browser") == []


def test_what_is_unfolded_fits_a_narrow_screen_and_follows_it(opened):
    driver = opened("analysed", width=400)
    first, second = driver.find_elements(By.CSS_SELECTOR, ".analysis")

    def fold(part, opened):
        driver.execute_script("arguments[0].open = arguments[1]", part, opened)

    fold(first, True)
    figure = driver.find_element(By.CSS_SELECTOR, "[data-figure=analysis-0-kernel-0]")
    wait(driver, lambda: figure.get_attribute("data-live") is not None)
    assert 200 < figure.find_element(By.TAG_NAME, "svg").size["width"] <= 400
    fold(first, False)
    size = {"width": 900, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    fold(first, True)
    wait(driver, lambda: figure.find_element(By.TAG_NAME, "svg").size["width"] > 600)
    fold(second, True)
    wait(driver, lambda: not driver.find_elements(By.CSS_SELECTOR, "[data-figure]:not([data-live])"))
    ids = [element.get_attribute("id") for element in driver.find_elements(By.CSS_SELECTOR, "[id]")]
    assert len(ids) == len({*ids})
    assert driver.get_log("browser") == []


def test_everything_hidden_is_no_error(opened):
    driver = opened("one seed")
    for item in driver.find_elements(By.CSS_SELECTOR, "[data-label]"):
        item.click()
    wait(driver, lambda: "rope" not in driver.find_element(By.CSS_SELECTOR, "[data-figure=length] svg").text)
    assert driver.get_log("browser") == []


def test_the_measure_can_be_changed(opened):
    driver = opened("one seed")
    figure = driver.find_element(By.CSS_SELECTOR, "[data-figure=length]")
    assert "Loss on the same targets at every length" in figure.text
    for value, words in (("loss", "Loss on non-overlapping windows"), ("paired_excess", "Rise over the loss")):
        driver.find_element(By.CSS_SELECTOR, f"input[value={value}]").click()
        wait(driver, lambda words=words: words in figure.text)


def test_a_pointed_line_tells_its_numbers_and_labels_are_inert(opened):
    driver = opened("troubled")
    points = driver.find_elements(By.CSS_SELECTOR, "[data-figure=length] .mark-symbol.role-mark path")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", points[0])
    seen = set()
    for point in points[::5]:
        ActionChains(driver).move_to_element(point).perform()
        tip = wait(driver, lambda: driver.find_element(By.CSS_SELECTOR, "#vg-tooltip-element.visible"))
        assert "nats" in tip.text and "undefined" not in tip.text
        seen.add(tip.text.partition("length")[0])
    assert len(seen) > 1
    assert driver.execute_script("return typeof window.pwned") == "undefined"
    assert VICIOUS in driver.find_element(By.CSS_SELECTOR, ".findings").text
    assert len(driver.find_elements(By.TAG_NAME, "script")) == 4


def test_dark_follows_the_system_and_the_switch(opened):
    driver = opened("one seed", dark=True)
    line = "[data-figure=length] .mark-line.role-mark path"
    assert colour(driver, "body", "backgroundColor") == rgb(DARK.paper)
    assert colour(driver, line, "stroke") in map(rgb, DARK.series)
    driver.find_element(By.ID, "theme").click()
    assert colour(driver, "body", "backgroundColor") == rgb(LIGHT.paper)
    assert colour(driver, line, "stroke") in map(rgb, LIGHT.series)
    driver.refresh()
    wait(driver, lambda: driver.execute_script("return document.documentElement.dataset.ready"))
    assert colour(driver, "body", "backgroundColor") == rgb(LIGHT.paper)
    assert colour(driver, "h1", "color") == rgb(LIGHT.ink)


def test_a_narrow_screen_scrolls_in_one_direction(opened):
    driver = opened("troubled", width=400)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 400
    for picture in driver.find_elements(By.CSS_SELECTOR, "[data-figure] > svg, [data-figure] svg.marks"):
        assert picture.size["width"] <= 400


def test_the_table_sorts(opened):
    driver = opened("one seed")
    table = driver.find_element(By.CSS_SELECTOR, "[aria-labelledby=h-results] table")

    def column():
        return [
            float(row.get_attribute("data-sort"))
            for row in table.find_elements(By.CSS_SELECTOR, "tbody tr td:nth-child(2)")
        ]

    head = table.find_element(By.CSS_SELECTOR, "thead th:nth-child(2)")
    head.find_element(By.TAG_NAME, "button").click()
    assert column() == sorted(column()) and head.get_attribute("aria-sort") == "ascending"
    head.find_element(By.TAG_NAME, "button").click()
    assert column() == sorted(column(), reverse=True) and head.get_attribute("aria-sort") == "descending"


def test_without_scripts_the_figures_are_still_there(opened):
    driver = opened("one seed", scripts=False)
    found = driver.find_elements(By.CSS_SELECTOR, "[data-figure] > svg.marks")
    assert len(found) == len(driver.find_elements(By.CSS_SELECTOR, "[data-figure]"))
    assert all(picture.size["height"] > 100 for picture in found)
    assert not driver.find_element(By.ID, "theme").is_displayed()
