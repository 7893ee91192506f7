"""What do the tests of the page share? A real Chromium, a server in a process of its own, and waiting for either."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
]
#: Seconds that the page has for an answer, on a machine that is busy with other tests.
PATIENCE = 20


def programs():
    """Return the paths of Chromium and of its driver; skip without them."""
    pytest.importorskip("selenium", reason="needs selenium, which the extra 'dev' brings")
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("needs Chromium: apt-get install chromium chromium-driver", allow_module_level=True)
    return browser, driver


@contextmanager
def chromium(folder):
    """Run a browser whose settings are kept in a folder; it is closed at the end."""
    binary, driver = programs()
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in [*FLAGS, f"--user-data-dir={folder}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield made
    finally:
        made.quit()


@contextmanager
def serving(*arguments, port=0):
    """Run ``hi2 serve`` and give its address; the process is killed at the end."""
    command = [sys.executable, "-m", "hi2.cli", "serve", *map(str, arguments), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"hi2 serves (http://\S+)/", line):
                yield found[1]
                return
        raise AssertionError("".join(said))
    finally:
        process.kill()
        process.communicate()


class Page:
    """The page in a browser, by what a person sees and does."""

    def __init__(self, driver, url):
        self.driver, self.url = driver, url

    def open(self, address=""):
        """Open an address of the page anew, such as ``#/search?c=stories``."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}/{address}")
        return self

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.one(selector).text

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def until(self, holds):
        """Wait until a condition holds, and return what it gives. Elements may be replaced meanwhile."""
        from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(NoSuchElementException, StaleElementReferenceException):
                if found := holds():
                    return found
            time.sleep(0.03)
        raise AssertionError(
            f"In vain waited for this; the page at {self.driver.current_url} says:\n{self.text('body')}"
        )

    def type(self, text):
        """Type into the search field, in place of what it has."""
        field = self.one("#query")
        field.clear()
        field.send_keys(text)

    def press(self, *keys):
        """Press keys wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def titles(self):
        """Return the headings of the hits."""
        return self.script("return [...document.querySelectorAll('.hit h3')].map((own) => own.textContent)")

    def wait_for_titles(self, *titles):
        """Wait until the first hits are these."""
        self.until(lambda: self.titles()[: len(titles)] == list(titles))

    def pick(self, column, value):
        """Choose a value of a facet, or no longer."""

        def box():
            labels = self.all(f".facet[data-column='{column}'] label")
            return next((own for own in labels if own.find_element("css selector", "span").text == value), None)

        self.until(box).click()

    def fits(self):
        """Whether nothing is wider than the window."""
        return self.script("return document.documentElement.scrollWidth <= window.innerWidth")

    def resize(self, width, height):
        """Take another size, as a phone has, smaller than a window can be."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def errors(self):
        """Return what the browser complained of since the last time, but for answers that were refused."""
        return [own["message"] for own in self.driver.get_log("browser") if own["source"] != "network"]
