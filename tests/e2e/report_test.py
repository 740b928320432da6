"""convert --report: the page in a browser, without errors and without a network; the same data as JSON; hostile models."""
import importlib.util
import json
import re
import unittest

import browser
import support

MODELS = support.ROOT / "samples" / "models"
NO_BROWSER = "" if browser.find() else "there is no browser: apt-get install chromium (toolchains/bootstrap --for tests does)"


def report(model, name, *arguments, ending="html"):
    path = support.WORK / f"{name}.{ending}"
    support.convert(model, name, "--report", path, *arguments)
    return path


class Data(unittest.TestCase):
    def test_schema(self):
        data = json.loads(report(MODELS / "kws_dscnn.onnx", "report_schema", "--shape", "features=1,1,49,40", ending="json").read_text())
        self.assertEqual(data["vireo_report"], 1)
        self.assertEqual(len(data["before"]["graphs"][0]["nodes"]), data["nodes_imported"])
        self.assertRegex(data["provenance"]["source_sha256"], "^[0-9a-f]{64}$")
        for side in (data["before"], data["after"]):
            for node in side["nodes"]:
                self.assertLess(node["graph"], len(side["graphs"]))
                for value in node["inputs"] + node["outputs"]:
                    self.assertLess(value, len(side["values"]))
            for graph in side["graphs"]:
                items = len(graph["inputs"]) + len(graph["nodes"]) + len(graph["outputs"])
                self.assertEqual(len(graph["layout"]["items"]), 3 * items)
                for line in graph["layout"]["lines"]:
                    self.assertTrue(0 <= line[0] < line[1] < items)

    def test_every_node_is_accounted_for(self):
        """Each original node became something or has a reason; each step says what it was made of; both directions agree."""
        for name in ("kws_dscnn", "kws_gru", "digit_det_nms", "kws_frontend"):
            data = json.loads(report(MODELS / f"{name}.onnx", "report_kin", ending="json").read_text())
            before, after = data["before"]["nodes"], data["after"]["nodes"]
            for i, node in enumerate(before):
                self.assertTrue(node.get("kin") or node.get("fate"), (name, node))
                for k in node.get("kin", []):
                    self.assertIn(i, after[k]["kin"], (name, node))
            found = [n for n in after if n.get("kin")]
            self.assertGreater(len(found), 0.8 * len(after), name)

    @unittest.skipIf(support.missing("onnx", "numpy", folder="zoo"), support.missing("onnx", "numpy", folder="zoo"))
    def test_kin_stay_in_their_layer(self):
        """Names of transformers tell the layer: what a step was made of bears the same number, whatever passes did to it."""
        import onnx
        spec = importlib.util.spec_from_file_location("fill_skeleton", support.SHARED / "zoo" / "fill_skeleton.py")
        fill = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(fill)
        model = support.WORK / "report_bert.onnx"
        support.WORK.mkdir(parents=True, exist_ok=True)
        onnx.save(fill.fill(fill.load(str(support.SHARED / "zoo" / "bert_minilm.onnx.gz"))), str(model))
        data = json.loads(report(model, "report_bert", ending="json").read_text())
        layer = lambda node: (re.search(r"/layer\.(\d+)/", node.get("name", "")) or [None, None])[1]
        judged = 0
        for step in data["after"]["nodes"]:
            for k in step.get("kin", []):
                a, b = layer(step), layer(data["before"]["nodes"][k])
                if a is not None and b is not None:
                    judged += 1
                    self.assertEqual(a, b, (step["name"], data["before"]["nodes"][k]["name"]))
        self.assertGreater(judged, 150)

    def test_memory_has_no_overlap(self):
        """Tensors that live at one time and share no bytes on purpose lie apart, inside the arena."""
        data = json.loads(report(MODELS / "kws_dscnn.onnx", "report_memory", "--shape", "features=1,1,49,40", ending="json").read_text())
        memory = data["memory"]
        self.assertTrue(memory["planned"])
        self.assertGreaterEqual(memory["arena_bytes"], memory["lower_bound_bytes"])
        placed = [t for t in memory["tensors"] if "offset" in t]
        self.assertTrue(placed)
        for t in placed:
            self.assertLessEqual(t["offset"] + t["bytes"], memory["arena_bytes"])
            for u in placed:
                # A step may write where its operand lies, so only what lives beyond one common step has to be apart.
                if u is not t and t["first"] < u["last"] and u["first"] < t["last"]:
                    apart = t["offset"] + t["bytes"] <= u["offset"] or u["offset"] + u["bytes"] <= t["offset"]
                    self.assertTrue(apart or t["bytes"] == u["bytes"], (t, u))

    def test_placement_covers_the_steps(self):
        data = json.loads(report(MODELS / "kws_gru.onnx", "report_placed", ending="json").read_text())
        placed = data["placement"]["nodes"]
        for step in data["after"]["graphs"][0]["nodes"]:
            self.assertTrue(placed[str(step)]["device"], data["after"]["nodes"][step])

    def test_layers_and_times(self):
        """With --check and --bench: layers worst first, each with its step; times of all steps, shares that sum to one."""
        data = json.loads(report(MODELS / "digit_mobile.onnx", "report_layers", "--quantize", "fp16", "--check", "--bench", "0.1", ending="json").read_text())
        layers = data["layers"]
        self.assertGreater(len(layers), 5)
        exactness = [l["sqnr_db"] if l["sqnr_db"] is not None else 1e9 for l in layers]
        self.assertEqual(exactness, sorted(exactness))
        self.assertLess(exactness[0], 100)  # weights in float16 show
        self.assertGreater(exactness[0], 30)
        for l in layers:
            self.assertLess(l["node"], len(data["after"]["nodes"]), l)
        times = data["latency"]["nodes"]
        steps = data["after"]["graphs"][0]["nodes"]
        self.assertEqual([s for s in steps if str(s) not in times], [])
        self.assertAlmostEqual(sum(t["share"] for t in times.values() if t["depth"] == 0), 1, delta=0.01)

    def test_bench_writes_it_too(self):
        for model, before in ((MODELS / "kws_dscnn.onnx", True), (support.convert(MODELS / "kws_dscnn.onnx", "report_bench"), False)):
            out = support.WORK / "report_bench.json"
            support.vireo("bench", model, "--seconds", "0.05", "--report", out)
            data = json.loads(out.read_text())
            self.assertEqual("before" in data, before)
            self.assertIn("latency", data)
            self.assertIn("placement", data)
        done = support.vireo("bench", MODELS / "kws_dscnn.onnx", "--report", support.WORK / "report.txt", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("neither .html nor .json", done.stderr)

    def test_trace(self):
        """What bench --profile writes, by the rules of the trace-event format: see c_api/tool/trace_test.cc for all of them."""
        out = support.WORK / "report_trace.json"
        support.vireo("bench", MODELS / "kws_gru.onnx", "--seconds", "0.05", "--profile", out)
        trace = json.loads(out.read_text())
        last, runs = {}, 0
        for e in trace["traceEvents"]:
            self.assertIn(e["ph"], "MXCsf")
            if e["ph"] == "M":
                continue
            self.assertGreaterEqual(e["ts"], last.get(e["tid"], 0), e)
            last[e["tid"]] = e["ts"]
            if e["ph"] == "X":
                self.assertGreaterEqual(e["dur"], 0)
                runs += e["cat"] == "run"
                if e["cat"] != "run":
                    self.assertLessEqual({"node", "kernel", "dtype", "bytes"}, set(e["args"]))
        self.assertTrue(3 <= runs <= 20, runs)
        named = {e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
        self.assertLessEqual({"runs", "cpu"}, named)
        self.assertTrue(trace["nodes"])

    def test_without_a_file(self):
        out = support.WORK / "report_only.json"
        support.WORK.mkdir(parents=True, exist_ok=True)
        support.vireo("convert", MODELS / "kws_dscnn.onnx", "--emit-onnx", support.WORK / "report_only.onnx", "--report", out)
        self.assertIn("after", json.loads(out.read_text()))


@unittest.skipIf(NO_BROWSER, NO_BROWSER)
class Page(unittest.TestCase):
    def open(self, b, path):
        b.open(path)
        self.assertEqual(b.errors(), [])

    def test_loads_searches_and_tells(self):
        path = report(MODELS / "kws_dscnn.onnx", "report_page", "--shape", "features=1,1,49,40")
        with browser.Browser() as b:
            self.open(b, path)
            self.assertEqual(b.run("document.querySelectorAll('.pane canvas').length"), 2)
            for key in ("before", "after"):
                self.assertGreater(b.run(f"vireoReport.views.{key}.items.length"), 10)
            # Something is drawn: not all pixels of the canvas are alike.
            self.assertGreater(b.run("""(() => { const c = document.querySelector('#pane-after canvas');
                const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer); return new Set(d).size; })()"""), 10)
            # By the keyboard alone: find a node, choose it.
            b.run("document.getElementById('find').focus()")
            b.type("gemm")
            self.assertGreater(b.run("document.querySelectorAll('#found [role=option]').length"), 0)
            b.key("Enter", 13)
            self.assertIn("Gemm", b.run("document.querySelector('#details h3').textContent"))
            self.assertIn("Made from", b.run("document.getElementById('details').textContent"))
            # By the mouse: the first node of the graph that was imported.
            b.run("document.getElementById('graph').scrollIntoView({behavior: 'instant'})")
            x, y = b.run("""(() => { const v = vireoReport.views.before; v.fit(true); const i = v.items.find(i => i.node !== undefined), r = v.canvas.getBoundingClientRect();
                return [r.left + i.x * v.scale + v.x, r.top + (i.y + 20) * v.scale + v.y]; })()""")
            b.frame()
            b.click(x, y)
            first = b.run("vireoReport.data.before.nodes[vireoReport.data.before.graphs[0].nodes[0]].name")
            self.assertIn(first, b.run("document.getElementById('details').textContent"))
            self.assertIn("Became", b.run("document.getElementById('details').textContent"))
            # Arrow keys go along the lines.
            b.key("ArrowDown", 40)
            self.assertNotEqual(b.run("vireoReport.views.before.chosen"), b.run("vireoReport.data.before.graphs[0].nodes[0]"))
            self.assertEqual(b.errors(), [])
            self.assertEqual(b.requests(), [path.resolve().as_uri()])

    def test_composites_open(self):
        path = report(MODELS / "kws_dscnn.onnx", "report_bodies")
        with browser.Browser() as b:
            self.open(b, path)
            b.run("vireoReport.goTo('after', vireoReport.data.after.nodes.findIndex(n => n.bodies && n.op === 'Composite'))")
            b.key("Enter", 13)
            self.assertNotEqual(b.run("vireoReport.views.after.graph"), 0)
            b.key("Escape", 27)
            self.assertEqual(b.run("vireoReport.views.after.graph"), 0)

    def test_prints_light(self):
        """On paper the graph is drawn in the light colours, also where the system is dark; afterwards as before."""
        path = report(MODELS / "kws_dscnn.onnx", "report_print")
        ground = "[...document.querySelector('#pane-after canvas').getContext('2d').getImageData(2, 200, 1, 1).data].slice(0, 3)"
        with browser.Browser(dark=True) as b:
            self.open(b, path)
            b.frame()
            before = b.run(ground)
            b.run("addEventListener('beforeprint', () => { window.printed = " + ground + "; })")
            b.print(support.WORK / "report_print.pdf")
            self.assertGreater(min(b.run("window.printed")), 200)
            self.assertLess(max(before), 90)
            self.assertEqual(b.run(ground), before)
            self.assertGreater((support.WORK / "report_print.pdf").stat().st_size, 10_000)

    def test_controls_have_names(self):
        path = report(MODELS / "kws_dscnn.onnx", "report_names")
        with browser.Browser(420, 900, dark=True) as b:
            self.open(b, path)
            nameless = b.run("""[...document.querySelectorAll('button, input, select, canvas, a[href], [role=listbox]')].filter(e =>
                !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length))).map(e => e.outerHTML)""")
            self.assertEqual(nameless, [])
            self.assertEqual(b.run("document.documentElement.lang"), "en")
            self.assertLessEqual(b.run("document.documentElement.scrollWidth"), 420)

    def test_text_has_contrast(self):
        """WCAG 2: 4.5 for text, in both themes: every colour of text on every ground that it stands on."""
        path = report(MODELS / "kws_dscnn.onnx", "report_contrast")
        for dark in (False, True):
            with browser.Browser(dark=dark) as b:
                self.open(b, path)
                worst = b.run("""(() => {
                    const probe = document.body.appendChild(document.createElement('i'));
                    const light = (name) => { probe.style.color = `var(--${name})`; const c = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3)
                        .map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
                    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
                    const pairs = [];
                    for (const ground of ['paper', 'card', 'accent-soft', 'k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7']) pairs.push(['ink', ground]);
                    for (const text of ['soft', 'accent', 'bad', 'warn']) for (const ground of ['paper', 'card']) pairs.push([text, ground]);
                    pairs.push(['ink', 'warn-soft'], ['warn', 'warn-soft'], ['soft', 'accent-soft'], ['soft', 'faint']);
                    return pairs.map(p => [ratio(...p), ...p]).sort((a, b) => a[0] - b[0])[0]; })()""")
                self.assertGreaterEqual(worst[0], 4.5, worst)


@unittest.skipIf(support.missing("onnx", "numpy"), support.missing("onnx", "numpy"))
class Hostile(unittest.TestCase):
    def model(self, name, nodes):
        import onnx
        from onnx import TensorProto, helper
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
        y = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [1, 4])
        path = support.WORK / f"{name}.onnx"
        support.WORK.mkdir(parents=True, exist_ok=True)
        onnx.save(helper.make_model(helper.make_graph(nodes, name, [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    @unittest.skipIf(NO_BROWSER, NO_BROWSER)
    def test_names(self):
        from onnx import helper
        evil = ["</script><script>window.hit=1</script>", "<img src=x onerror=window.hit=1>", "a\u202egpj.exe", "x" * (1 << 20), "\u2028", "'\"`${1}", "__proto__", "constructor"]
        nodes, last = [], "x"
        for i, name in enumerate(evil):
            nodes.append(helper.make_node(["Exp", "Neg", "Abs", "Sin"][i % 4], [last], [name + str(i)], name=name))
            last = name + str(i)
        path = report(self.model("report_hostile", nodes), "report_hostile")
        text = path.read_text()
        self.assertFalse("<script>window" in text)
        self.assertFalse("\u202e" in text)
        self.assertLess(len(text), 400_000)
        with browser.Browser() as b:
            b.open(path)
            self.assertEqual(b.errors(), [])
            for i in range(len(evil)):
                b.run(f"vireoReport.goTo('before', {i})")
            for word in ("script", "proto", "constructor", "exe"):
                b.run(f"(() => {{ const f = document.getElementById('find'); f.value = '{word}'; f.dispatchEvent(new Event('input')); }})()")
                self.assertGreater(b.run("document.querySelectorAll('#found [role=option]').length"), 0, word)
            b.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            b.frame()
            self.assertIsNone(b.run("window.hit"))
            self.assertEqual(b.run("document.querySelectorAll('img').length"), 0)
            self.assertEqual(b.errors(), [])
            self.assertEqual(len(b.requests()), 1)

    @unittest.skipIf(NO_BROWSER, NO_BROWSER)
    def test_bodies_can_be_entered(self):
        import onnx
        from onnx import TensorProto, helper
        value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
        body = helper.make_graph(
            [helper.make_node("Identity", ["going"], ["go"], name="go on"), helper.make_node("Sin", ["state"], ["next"], name="inside")], "body",
            [value("i", TensorProto.INT64, []), value("going", TensorProto.BOOL, []), value("state", TensorProto.FLOAT, [4])],
            [value("go", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [4])])
        loop = helper.make_node("Loop", ["trips", "", "x"], ["y"], name="again", body=body)
        graph = helper.make_graph([loop], "looped", [value("trips", TensorProto.INT64, []), value("x", TensorProto.FLOAT, [4])], [value("y", TensorProto.FLOAT, [4])])
        model = support.WORK / "report_loop.onnx"
        support.WORK.mkdir(parents=True, exist_ok=True)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        with browser.Browser() as b:
            b.open(report(model, "report_loop"))
            for key in ("before", "after"):
                b.run(f"vireoReport.goTo('{key}', vireoReport.data.{key}.nodes.findIndex(n => n.op === 'Loop'))")
                self.assertIn("again", b.run("document.getElementById('details').textContent"))
                b.key("Enter", 13)
                names = b.run(f"vireoReport.views.{key}.items.filter(i => i.node !== undefined).map(i => vireoReport.data.{key}.nodes[i.node].name)")
                self.assertIn("again/inside", names)
                b.key("Escape", 27)
                self.assertEqual(b.run(f"vireoReport.views.{key}.graph"), 0)
            inside = b.run("vireoReport.data.after.nodes.find(n => n.name === 'again/inside')")
            self.assertEqual(b.run(f"vireoReport.data.before.nodes[{inside['kin'][0]}].name"), "again/inside")
            self.assertEqual(b.errors(), [])

    @unittest.skipIf(NO_BROWSER, NO_BROWSER)
    def test_three_thousand_nodes(self):
        from onnx import helper
        nodes = []
        for i in range(1500):  # residual blocks of two nodes
            a = "x" if i == 0 else f"v{i - 1}"
            nodes += [helper.make_node("Sin", [a], [f"s{i}"], name=f"/block.{i}/Sin"), helper.make_node("Add", [f"s{i}", a], [f"v{i}"], name=f"/block.{i}/Add")]
        path = report(self.model("report_large", nodes), "report_large", "--no-optimize")
        self.assertLess(path.stat().st_size, 4 << 20)
        with browser.Browser() as b:
            b.open(path)  # how long that takes on a busy machine is not judged
            self.assertEqual(b.errors(), [])
            b.run("document.getElementById('find').focus()")
            b.type("block.1499/add")
            b.key("Enter", 13)
            self.assertIn("/block.1499/Add", b.run("document.getElementById('details').textContent"))


if __name__ == "__main__":
    support.main()
