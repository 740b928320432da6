"""convert --report: the page in a browser, without errors and without a network; the same data as JSON; hostile models."""
import functools
import importlib.util
import json
import re
import unittest

import browser
import support

MODELS = support.ROOT / "samples" / "models"
NO_BROWSER = browser.missing()


def report(model, name, *arguments, ending="html"):
    path = support.WORK / f"{name}.{ending}"
    support.convert(model, name, "--report", path, *arguments)
    return path


@functools.cache
def timed_report():
    return report(MODELS / "kws_dscnn.onnx", "report_times", "--shape", "features=1,1,49,40", "--bench", "0.05")


def blocks(name, count, notes=False):
    """A chain of residual blocks, named as PyTorch's exporters do: /layers.0/Sin, or by notes beside the nodes."""
    import onnx
    from onnx import TensorProto, helper
    nodes, last = [], "x"
    for i in range(count):
        for k, op in enumerate(("Sin", "Neg", "Exp")):
            nodes.append(helper.make_node(op, [last if k == 0 else f"t{i}_{k - 1}"], [f"t{i}_{k}"], name=f"/layers.{i}/{op}"))
        nodes.append(helper.make_node("Add", [f"t{i}_2", last], [f"y{i}"], name=f"/layers.{i}/Add"))
        last = f"y{i}"
    for at, node in enumerate(nodes if notes else []):
        node.name = f"node_{at}"
        for key, value in {"pkg.torch.onnx.stack_trace": f'File "net/model.py", line {10 + at}, in forward\n    x = self.layers[{at // 4}](x)',
                           "pkg.torch.onnx.name_scopes": f"['', 'layers', 'layers.{at // 4}', 'op']"}.items():
            row = node.metadata_props.add()
            row.key, row.value = key, value
    x, y = (helper.make_tensor_value_info(v, TensorProto.FLOAT, ["n", 4]) for v in ("x", last))
    path = support.WORK / f"{name}.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, name, [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path


class Data(unittest.TestCase):
    def test_schema(self):
        data = json.loads(report(MODELS / "kws_dscnn.onnx", "report_schema", "--shape", "features=1,1,49,40", ending="json").read_text())
        self.assertEqual(data["vireo_report"], 2)
        self.assertEqual(len(data["before"]["graphs"][0]["nodes"]), data["nodes_imported"])
        self.assertRegex(data["provenance"]["source_sha256"], "^[0-9a-f]{64}$")
        for side in (data["before"], data["after"]):
            for node in side["nodes"]:
                self.assertLess(node["graph"], len(side["graphs"]))
                for value in node["inputs"] + node["outputs"]:
                    self.assertLess(value, len(side["values"]))
            for graph in side["graphs"]:
                boxes = graph["boxes"]
                self.assertEqual(sorted(i for box in boxes for i in box["items"] if i >= 0), sorted(graph["nodes"]))
                self.assertEqual(sorted(-i for box in boxes for i in box["items"] if i < 0), list(range(1, len(boxes))))
                for b, box in enumerate(boxes):
                    ends = len(box["ins"]) + len(box["outs"]) if b else len(graph["inputs"]) + len(graph["outputs"])
                    items = ends + len(box["items"])
                    self.assertEqual(len(box["places"]), 3 * items)
                    for line in box["lines"]:
                        self.assertTrue(0 <= line[0] < items and 0 <= line[1] < items and line[0] != line[1])

    def test_extents_have_their_bounds(self):
        data = json.loads(report(MODELS / "kws_dscnn.onnx", "report_bounds", "--shape", "features=1..8,1,49,40", ending="json").read_text())
        for side in (data["before"], data["after"]):
            extent = side["values"][side["graphs"][0]["inputs"][0]]["type"].split("[")[1].split(",")[0]
            self.assertEqual(side["bounds"], {extent: [1, 8]})

    @unittest.skipIf(support.missing("onnx"), support.missing("onnx"))
    def test_what_exporters_wrote(self):
        """Lines of source and modules as PyTorch's exporter writes them; a step has those of what it was made from."""
        path = report(blocks("report_origin", 2, notes=True), "report_origin", ending="json")
        data = json.loads(path.read_text())
        before, after = data["before"], data["after"]
        for i, node in enumerate(before["nodes"]):
            self.assertIn(f"line {10 + i}, in forward", before["texts"][node["origin"]["trace"]])
        names = {box["name"] for box in before["graphs"][0]["boxes"][1:]}
        self.assertEqual(names, {"layers.0", "layers.1"})  # though the nodes are called node_1...
        self.assertNotIn("texts", after)
        self.assertEqual({box["name"] for box in after["graphs"][0]["boxes"][1:]}, names)
        without = json.loads(report(blocks("report_plain", 2), "report_plain", ending="json").read_text())
        self.assertNotIn("texts", without["before"])

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
        """With --check and --bench: layers worst first, each with its step; times of all steps."""
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
        self.times_are_one_statistic(data["latency"])

    def times_are_one_statistic(self, latency):
        """Medians, of which the shares and the rest are the whole; the timeline's runs took place."""
        tops = [t for t in latency["nodes"].values() if t["depth"] == 0]
        self.assertNotIn("mean_us", tops[0])
        for t in [*tops, {**latency, "p50_us": latency["median_us"]}]:
            self.assertTrue(t["p10_us"] <= t["p50_us"] <= t["p90_us"], t)
        for t in tops:
            self.assertAlmostEqual(t["share"], t["p50_us"] / latency["median_us"], places=5)
        self.assertAlmostEqual(sum(t["share"] for t in tops) + (latency["between"]["p50_us"] + latency["rest_us"]) / latency["median_us"], 1, delta=1e-4)
        self.assertEqual([r["quantile"] for r in latency["timeline"]], [0.1, 0.5, 0.9])
        walls = [r["wall_us"] for r in latency["timeline"]]
        self.assertEqual(walls, sorted(walls))
        for run in latency["timeline"]:
            at = 0
            for node, start, length in run["slices"]:
                if latency["nodes"][str(node)]["depth"] == 0:
                    self.assertGreaterEqual(start, at - 0.01)
                    at = start + length
            self.assertLessEqual(at, run["wall_us"] + 1)

    def test_bench_writes_it_too(self):
        for model, before in ((MODELS / "kws_dscnn.onnx", True), (support.convert(MODELS / "kws_dscnn.onnx", "report_bench"), False)):
            out = support.WORK / "report_bench.json"
            support.vireo("bench", model, "--seconds", "0.05", "--report", out)
            data = json.loads(out.read_text())
            self.assertEqual("before" in data, before)
            self.times_are_one_statistic(data["latency"])
            self.assertIn("placement", data)
        done = support.vireo("bench", MODELS / "kws_dscnn.onnx", "--report", support.WORK / "report.txt", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("neither .html nor .json", done.stderr)

    def test_trace(self):
        """What bench --profile writes, by the rules of the trace-event format: see c_api/cli/trace_test.cc for all of them."""
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

    @unittest.skipIf(support.missing("onnx"), support.missing("onnx"))
    def test_modules_open_and_close(self):
        """By the keyboard, in a graph of 1,400 nodes: boxes are few at first, each opens in place and shows what is in it."""
        path = report(blocks("report_modules", 350), "report_modules", "--shape", "x=1..8,4", "--no-optimize")
        self.assertLess(path.stat().st_size, 1_500_000)
        with browser.Browser() as b:
            self.open(b, path)
            self.assertLess(b.run("vireoReport.views.after.items.length"), 80)
            # Shapes are on the lines, and bounds at the input.
            self.assertIn("1..8×4", b.run("vireoReport.views.after.scene.labels.map(l => l.text)"))
            self.assertIn("=1..8,4]", b.run("document.getElementById('io').textContent"))
            b.run("vireoReport.goTo('after', vireoReport.data.after.nodes.findIndex(n => n.name === '/layers.200/Add'))")
            self.assertIn("/layers.200/Add", b.run("document.getElementById('details').textContent"))
            shown = b.run("vireoReport.views.after.items.length")
            b.key("Escape", 27)  # closes the module around it, and has it chosen
            self.assertLess(b.run("vireoReport.views.after.items.length"), shown)
            self.assertIn("layers.200", b.run("document.querySelector('#details h3').textContent"))
            b.key("ArrowDown", 40)
            self.assertIn("layers.201", b.run("document.querySelector('#details h3').textContent"))
            b.key("Enter", 13)
            self.assertIn("layers.201/Add", b.run("vireoReport.views.after.items.map(i => i.node === undefined ? '' : vireoReport.data.after.nodes[i.node].name).join(' ')"))
            # All open: every node is there, and nothing lies on anything else.
            b.run("document.querySelector('#pane-after [aria-label=\"Open all modules\"]').click()")
            self.assertEqual(b.run("vireoReport.views.after.items.filter(i => i.node !== undefined).length"), 1400)
            self.assertEqual(b.run("""(() => { const items = vireoReport.views.after.items.filter(i => !i.port).sort((a, b) => a.y - b.y); let hits = 0;
                items.forEach((a, i) => { for (let k = i + 1; k < items.length && items[k].y < a.y + a.h; k++) { const b = items[k]; if (Math.abs(a.x - b.x) < (a.w + b.w) / 2 - 1) hits++; } });
                return hits; })()"""), 0)
            # The line of source, where the exporter noted it.
            self.open(b, report(blocks("report_source", 2, notes=True), "report_source"))
            b.run("vireoReport.goTo('after', 0)")
            self.assertIn('File "net/model.py", line 1', b.run("document.querySelector('#details .trace pre').textContent"))

    def test_times_colours_and_timeline(self):
        path = timed_report()
        with browser.Browser() as b:
            self.open(b, path)
            # Colours of amounts are others than those of kinds, and the original graph bears them as well.
            b.run("(() => { const s = document.getElementById('colour'); s.value = 'time'; s.dispatchEvent(new Event('change')); })()")
            swatches = b.run("[...document.querySelectorAll('#legend i')].map(i => i.style.background)")
            self.assertEqual([s for s in swatches if "--k" in s and "--k6" not in s], [])
            painted = "vireoReport.data.before.graphs[0].nodes.map(id => Object.entries(colours()).find(([, c]) => c === vireoReport.views.before.paint([id], colours()))[0])"
            self.assertTrue(any(c.startswith("t") for c in b.run(painted)))
            # What is told sums to the whole, the row between the steps included.
            shares = b.run("[...document.querySelectorAll('#latency-list tbody tr')].map(r => r.children[5].textContent)")
            self.assertAlmostEqual(sum(float(s.split()[0]) for s in shares), 100, delta=0.6 * len(shares))
            self.assertIn("between the steps", b.run("document.getElementById('latency-list').textContent"))
            # The timeline, by keys.
            b.run("document.querySelector('#timeline-plot canvas').focus()")
            b.key("ArrowRight", 39)
            self.assertIn("of this run", b.run("document.getElementById('timeline-hover').textContent"))
            b.run("document.querySelectorAll('#timeline-bar .switch button')[2].click()")
            self.assertIn("slow run", b.run("document.querySelector('#timeline-plot canvas').getAttribute('aria-label')"))
            b.run("document.querySelector('#timeline-plot canvas').focus()")
            b.key("ArrowRight", 39)
            b.key("Enter", 13)
            self.assertIsNotNone(b.run("vireoReport.views.after.chosen"))
            self.assertEqual(b.requests(), [path.resolve().as_uri()])
            self.assertEqual(b.errors(), [])

    def test_labels_of_memory_are_whole(self):
        path = report(MODELS / "kws_dscnn.onnx", "report_labels", "--shape", "features=1,1,49,40")
        with browser.Browser() as b:
            for width in (360, 1400):
                b.resize(width, 800)
                self.open(b, path)
                labels = b.run("""(() => { const c = document.querySelector('#memory-plot canvas').getContext('2d'), out = [], fill = c.fillText, width = document.querySelector('#memory-plot').clientWidth; let clip = 0;
                    c.clip = () => { clip++; }; c.fillText = function (text, x) { const w = this.measureText(text).width, at = this.textAlign, m = this.getTransform();
                        if (m.b) { out.push([text, (m.f - w / 2) / c.canvas.height * width, (m.f + w / 2) / c.canvas.height * width]); return fill.apply(this, arguments); }
                        const left = at === 'right' ? x - w : at === 'center' ? x - w / 2 : x; out.push([text, left, left + w]); return fill.apply(this, arguments); };
                    repaint(); return {out, clip, names: vireoReport.data.after.values.map(v => v.name), width}; })()""")
                self.assertEqual(labels["clip"], 0)
                self.assertGreater(len(labels["out"]), 5)
                for text, left, right in labels["out"]:
                    self.assertGreaterEqual(left, 0, text)
                    self.assertLessEqual(right, labels["width"] + 1, text)
                tensors = [t for t, *_ in labels["out"] if not re.fullmatch(r"[\d.]+( [KM]?i?B)?|peak: step \d+", t)]
                for text in tensors:  # whole segments of a name
                    self.assertTrue(any(n == text or n.endswith("/" + text) for n in labels["names"]), text)
                self.assertTrue(tensors)

    def test_two_reports_are_compared(self):
        """Either form of the other report; what is none is refused in words."""
        here = timed_report()
        other = report(MODELS / "kws_dscnn.onnx", "report_there", "--shape", "features=1,1,49,40", "--quantize", "fp16", "--bench", "0.05")
        data = report(MODELS / "digit_mobile.onnx", "report_digits", ending="json")
        old = support.WORK / "report_old.json"
        old.write_text('{"vireo_report": 1, "after": {}}')
        said = "document.getElementById('compare-text').textContent"
        with browser.Browser(360, 780) as b:
            self.open(b, here)
            def give(path, word):
                b.give_file("#other", path)
                for _ in range(200):
                    if word in b.run(said):
                        return
                    b.frame()
                self.fail(b.run(said))
            give(other, "report_there.html")
            rows = b.run("[...document.querySelectorAll('#compare-list tbody tr')].map(r => [...r.children].map(c => c.textContent))")
            weights = next(r for r in rows if r[0] == "Weights")
            self.assertNotEqual(weights[1], weights[2])
            self.assertRegex(weights[3], r"^\+.*\+\d+ %\)$")  # float32 is more than float16
            self.assertIn("there: ", b.run("document.getElementById('compare-list').textContent"))
            self.assertIn("difference", b.run("[...document.getElementById('colour').options].map(o => o.value)"))
            give(here, "0 are only here, 0 only there")
            self.assertIn("same", b.run("document.getElementById('compare-list').textContent"))
            give(data, "Times are missing in the other report")
            give(old, "version 1")
            give(support.WORK / "report_times.vireo", "neither a report")
            self.assertEqual(b.run("document.getElementById('compare-list').childElementCount"), 0)
            self.assertLessEqual(b.run("document.documentElement.scrollWidth"), 360)
            self.assertEqual(b.errors(), [])
            self.assertEqual([r for r in b.requests() if not r.startswith("file:")], [])

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
        with browser.Browser(360, 780, dark=True) as b:
            self.open(b, path)
            nameless = b.run("""[...document.querySelectorAll('button, input, select, canvas, a[href], [role=listbox]')].filter(e =>
                !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length))).map(e => e.outerHTML)""")
            self.assertEqual(nameless, [])
            self.assertEqual(b.run("document.documentElement.lang"), "en")
            self.assertLessEqual(b.run("document.documentElement.scrollWidth"), 360)

    def test_text_has_contrast(self):
        """WCAG 2: 4.5 for text, in both themes: every colour of text on every ground that it stands on."""
        path = report(MODELS / "kws_dscnn.onnx", "report_contrast")
        with browser.Browser() as b:
            for dark in (False, True):
                b.theme(dark)
                self.open(b, path)
                worst = b.run("""(() => {
                    const probe = document.body.appendChild(document.createElement('i'));
                    const light = (name) => { probe.style.color = `var(--${name})`; const c = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3)
                        .map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
                    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
                    const pairs = [];
                    for (const ground of ['paper', 'card', 'accent-soft', 'k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 't0', 't1', 't2', 't3', 't4', 'd0', 'd1', 'd2', 'd3', 'd4']) pairs.push(['ink', ground]);
                    for (const text of ['soft', 'accent', 'bad', 'good', 'warn']) for (const ground of ['paper', 'card']) pairs.push([text, ground]);
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
