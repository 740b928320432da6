"""A page in headless Chromium, driven over the pipe of its DevTools protocol: no package is needed beside the browser."""
import atexit
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time


def find():
    """The path of a browser; "" where there is none."""
    return next((p for p in map(shutil.which, ["chromium", "chromium-browser", "google-chrome"]) if p), "")


def missing():
    """Why pages are not opened; "" where they are."""
    if os.environ.get("VIREO_PRELOAD"):
        return "pages are not opened: what runs in a browser, a sanitizer does not see"
    return "" if find() else "pages are not opened: there is no browser: apt-get install chromium (toolchains/bootstrap --for tests does)"


class Program:
    """The browser: one process for all pages of a test program, which takes longer to start than most pages to test."""
    running = None

    def __init__(self):
        self.next, self.buffer = 0, b""
        self.profile = tempfile.TemporaryDirectory(prefix="vireo_browser_")
        # The browser reads commands from 3 and writes answers to 4.
        command_read, self.command = os.pipe()
        self.answer, answer_write = os.pipe()

        def redirect():
            os.setpgrp()  # a group to end; a session of its own would get its own share of a busy machine
            # Pipes may themselves be 3 or 4: both go out of the way first.
            a, b = os.dup(command_read), os.dup(answer_write)
            a, b = (os.dup(a), os.dup(b)) if min(a, b) < 5 else (a, b)
            os.dup2(a, 3)
            os.dup2(b, 4)
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking",
             "--disable-component-update", "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"],
            env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},  # a sanitizer of ours is none of its business
            preexec_fn=redirect, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        atexit.register(self.end)

    @classmethod
    def get(cls):
        """The one that runs; a first one, or another after one that was ended, starts here."""
        if cls.running is None:
            cls.running = cls()
        return cls.running

    def end(self):
        Program.running = None
        atexit.unregister(self.end)
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        except ProcessLookupError:  # it ended before
            self.process.wait()
        os.close(self.command)
        os.close(self.answer)
        for _ in range(20):  # its children write for a moment more
            try:
                return self.profile.cleanup()
            except OSError:
                time.sleep(0.1)

    def write(self, message):
        """Sends a message; returns its number, which the answer bears."""
        self.next += 1
        data = json.dumps({"id": self.next, **message}).encode() + b"\0"
        while data:
            data = data[os.write(self.command, data):]
        return self.next

    def message(self, seconds):
        """The next message of the browser; None after `seconds` without one."""
        while b"\0" not in self.buffer:
            if not select.select([self.answer], [], [], seconds)[0]:
                return None
            more = os.read(self.answer, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)


class Browser:
    """A page of its own, that shares nothing with others: with Browser() as b: b.open(path); b.run("document.title")"""

    def __init__(self, width=1400, height=900, dark=False, timeout=60):
        self.size, self.dark, self.timeout = (width, height), dark, timeout
        self.events, self.session, self.context = [], None, None

    def __enter__(self):
        self.program = Program.get()
        try:
            return self.attach()
        except BaseException:
            self.program.end()
            raise

    def attach(self):
        self.context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")
        self.resize(*self.size)
        self.theme(self.dark)
        return self

    def __exit__(self, kind, *_):
        if kind is not None:  # what went wrong may be the browser's fault: the next page gets another
            self.program.end()
            return
        self.session = None
        self.send("Target.disposeBrowserContext", browserContextId=self.context)

    def resize(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, dark):
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def send(self, method, **parameters):
        message = {"method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        number = self.program.write(message)
        end = time.monotonic() + self.timeout
        while True:
            got = self.program.message(max(0, end - time.monotonic()))
            if got is None:
                raise RuntimeError(f"{method} was not answered in {self.timeout} s")
            if got.get("id") != number:
                if got.get("sessionId") == self.session:  # a page before this one may have had one more to tell
                    self.events.append(got)
                continue
            if "error" in got:
                raise RuntimeError(f"{method}: {got['error']['message']}")
            return got["result"]

    def open(self, path):
        """Loads a page and waits until it has drawn itself; returns the seconds that took."""
        start = time.monotonic()
        self.send("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while not self.run("document.readyState === 'complete' && document.documentElement.dataset.ready === 'yes'"):
            if time.monotonic() - start > self.timeout or self.errors():
                raise RuntimeError(f"{path} did not finish: {self.errors()}")
            time.sleep(0.02)
        self.frame()  # a page is ready before a busy machine has drawn what it asked for
        return time.monotonic() - start

    def run(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        got = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"].get("exception", {}).get("description", str(got)))
        return got["result"].get("value")

    def frame(self):
        """Waits until what was asked for is on the screen."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def type(self, text):
        self.send("Input.insertText", text=text)

    def key(self, name, code=0):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def give_file(self, selector, path):
        """Chooses a file in an <input type=file>."""
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.send("DOM.setFileInputFiles", nodeId=node, files=[str(pathlib.Path(path).resolve())])

    def errors(self):
        """What the console was told: exceptions, errors, refused loads."""
        out = []
        for e in self.events:
            p = e.get("params", {})
            if e.get("method") == "Runtime.exceptionThrown":
                out.append(p["exceptionDetails"].get("exception", {}).get("description", p["exceptionDetails"]["text"]))
            elif e.get("method") == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                out.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
            elif e.get("method") == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                out.append(p["entry"]["text"])
        return out

    def requests(self):
        """Addresses that were asked for, the pages themselves included."""
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def print(self, path):
        """The page as a PDF."""
        pathlib.Path(path).write_bytes(base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"]))

    def shot(self, path, whole=False):
        parameters = {}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            parameters = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        pathlib.Path(path).write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png", **parameters)["data"]))
