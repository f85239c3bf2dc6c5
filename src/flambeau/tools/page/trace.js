"use strict";
// Draws the timeline on a canvas; uPlot draws memory below it.  All analysis was done before; `DATA` holds its result:
// lanes: [{label, group, rows: [{kind, start, length, name, site, call, more}]}] in columns, sorted by start.
(function () {
  const D = JSON.parse(document.getElementById("data").textContent);
  const ROW = 17, HEAD = 22, GROUP = 20, canvas = document.getElementById("canvas"), ctx = canvas.getContext("2d");
  const box = document.getElementById("lanes"), detail = document.getElementById("detail"), search = document.getElementById("search");
  const from0 = D.window[0], to0 = Math.max(D.window[1], from0 + 1);
  const lanes = D.lanes.map((l) => {
    const n = l.start.length, start = new Float64Array(n), end = new Float64Array(n);
    let t = 0;
    for (let i = 0; i < n; i++) { t += l.start[i]; start[i] = t; end[i] = t + l.length[i]; }
    return Object.assign({}, l, { n: n, start: start, end: end, hit: null, kind: Uint8Array.from(l.kind), name: Uint32Array.from(l.name), site: Uint32Array.from(l.site) });
  });
  let view = [from0, to0], width = 0, side = 0, colors = {}, selected = null, hits = [], hitAt = -1, needle = "", asked = false;
  const stats = { frames: 0, ms: 0 };

  // y of each lane, with a heading line before each group
  let height = HEAD, group = null;
  for (const lane of lanes) {
    if (lane.group !== group) { group = lane.group; lane.heading = height; height += GROUP; }
    lane.y = height; height += ROW + 3;
  }
  height += 6;

  function style() {
    const s = getComputedStyle(document.documentElement);
    for (const name of ["back", "panel", "line", "text", "soft", "kernel", "copy", "fill", "graph", "call", "range", "blocked", "hit", "arrow", "select", "shade"])
      colors[name] = s.getPropertyValue("--" + name).trim();
  }
  function fit() {
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";  // first: it decides whether the box has a scroll bar
    width = canvas.clientWidth; side = Math.min(190, Math.max(84, width * 0.2));
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (plot) for (const p of plots) p.setSize({ width: width, height: 130 });
    ask();
  }
  function refit() { if (canvas.clientWidth !== width) fit(); }
  const x = (t) => side + (t - view[0]) / (view[1] - view[0]) * (width - side);
  const time = (px) => view[0] + (px - side) / (width - side) * (view[1] - view[0]);
  // The text of a time, with four digits, or with those that times `step` apart need.
  function ns(t, step) {
    const a = Math.abs(t);
    if (step) {
      const [unit, name] = a >= 1e9 ? [1e9, " s"] : a >= 1e6 ? [1e6, " ms"] : a >= 1e3 ? [1e3, " µs"] : [1, " ns"];
      let digits = 0;
      for (let share = step / unit; digits < 9 && Math.abs(share - Math.round(share)) > 1e-6; share *= 10) digits++;
      return (t / unit).toFixed(digits) + name;
    }
    return a >= 1e9 ? (t / 1e9).toPrecision(4) + " s" : a >= 1e6 ? (t / 1e6).toPrecision(4) + " ms" : a >= 1e3 ? (t / 1e3).toPrecision(4) + " µs" : Math.round(t) + " ns";
  }
  function lower(array, value) { let a = 0, b = array.length; while (a < b) { const m = (a + b) >> 1; if (array[m] < value) a = m + 1; else b = m; } return a; }

  function draw() {
    asked = false;
    const began = performance.now();
    ctx.fillStyle = colors.back; ctx.fillRect(0, 0, width, height);
    ctx.font = "11px system-ui, sans-serif"; ctx.textBaseline = "middle";
    const scale = (width - side) / (view[1] - view[0]);
    const least = (view[1] - view[0]) / Math.max(1, (width - side) / 90);
    let step = Math.pow(10, Math.ceil(Math.log10(least)));
    if (step / 5 >= least) step /= 5; else if (step / 2 >= least) step /= 2;
    const ticks = [];
    for (let k = Math.ceil((view[0] - from0) / step); k * step <= view[1] - from0; k++) ticks.push(k * step);
    ctx.strokeStyle = colors.line; ctx.beginPath();
    for (const t of ticks) { const px = Math.round(x(t + from0)) + 0.5; ctx.moveTo(px, HEAD - 4); ctx.lineTo(px, height); }
    ctx.stroke();
    ctx.save(); ctx.beginPath(); ctx.rect(side, HEAD, width - side, height - HEAD); ctx.clip();
    for (const lane of lanes) drawLane(lane, scale);
    drawArrows();
    ctx.restore();
    ctx.textAlign = "left";
    for (const lane of lanes) {
      if (lane.heading !== undefined) { ctx.fillStyle = colors.panel; ctx.fillRect(0, lane.heading, width, GROUP - 3); ctx.fillStyle = colors.text; ctx.fillText(lane.group, 6, lane.heading + GROUP / 2 - 1); }
      ctx.fillStyle = colors.soft; ctx.fillText(clip(lane.label, side - 14), 10, lane.y + ROW / 2);
    }
    const top = box.scrollTop;  // the times stay in sight
    ctx.fillStyle = colors.back; ctx.fillRect(0, top, width, HEAD - 4); ctx.fillStyle = colors.soft;
    for (const t of ticks) {
      const text = ns(t, step), px = Math.round(x(t + from0)) + 3.5;
      if (px + ctx.measureText(text).width <= width) ctx.fillText(text, px, top + 10);
    }
    stats.frames++; stats.ms = performance.now() - began;
    if (plot && (plots[0].shown === undefined || plots[0].shown[0] !== view[0] || plots[0].shown[1] !== view[1]))
      for (const p of plots) { p.shown = [view[0], view[1]]; p.setData(thin(p.all, view[0] - from0, view[1] - from0), false); p.setScale("x", { min: view[0] - from0, max: view[1] - from0 }); }
  }
  function clip(text, room) {
    if (ctx.measureText(text).width <= room) return text;
    let n = Math.max(0, Math.floor(text.length * room / ctx.measureText(text).width) - 1);
    return n > 1 ? text.slice(0, n) + "…" : "";
  }
  // Neighbours within one pixel are drawn as one: a lane costs at most one rectangle per pixel and kind.
  function drawLane(lane, scale) {
    let i = Math.max(0, lower(lane.start, view[0]) - 1), until = -1, open = -1, color = "";
    const palette = D.kinds.map((kind) => colors[kind]), y = lane.y, last = lower(lane.start, view[1]);
    const put = () => { if (open >= 0) { ctx.fillStyle = color; const left = Math.floor(open); ctx.fillRect(left, y, Math.max(1, Math.round(until) - left), ROW); open = -1; } };
    for (; i < last; i++) {
      const a = side + (lane.start[i] - view[0]) * scale, b = side + (lane.end[i] - view[0]) * scale;
      if (b < side) continue;
      const kind = lane.hit && lane.hit[i] ? colors.hit : palette[lane.kind[i]];
      if (b - a < 2) {
        if (open >= 0 && a - until < 1 && kind === color) { until = Math.max(until, b); continue; }
        put(); open = a; until = Math.max(b, a + 1); color = kind; continue;
      }
      put(); ctx.fillStyle = kind; const left = Math.max(a, side - 2), wide = Math.min(b, width + 2) - left;
      ctx.fillRect(left, y, wide - (wide > 4 ? 1 : 0), ROW);
      if (wide > 28) { ctx.fillStyle = lane.dark ? colors.text : "#ffffff"; ctx.fillText(clip(D.names[lane.name[i]], wide - 8), left + 4, y + ROW / 2 + 1); }
    }
    put();
    if (selected && selected.lane === lane) {
      ctx.strokeStyle = colors.select; ctx.lineWidth = 2;
      ctx.strokeRect(x(lane.start[selected.i]), y, Math.max(2, (lane.end[selected.i] - lane.start[selected.i]) * scale), ROW); ctx.lineWidth = 1;
    }
  }
  function arrow(a, b, color) {
    const x1 = x(a.lane.end[a.i]), y1 = a.lane.y + ROW / 2, x2 = x(b.lane.start[b.i]), y2 = b.lane.y + ROW / 2;
    if (Math.max(x1, x2) < side || Math.min(x1, x2) > width) return;
    ctx.strokeStyle = ctx.fillStyle = color; ctx.lineWidth = 1.5; ctx.beginPath(); ctx.moveTo(x1, y1);
    ctx.bezierCurveTo(x1 + 18, y1, x2 - 18, y2, x2 - 5, y2); ctx.stroke();
    ctx.beginPath(); ctx.moveTo(x2, y2); ctx.lineTo(x2 - 6, y2 - 3.5); ctx.lineTo(x2 - 6, y2 + 3.5); ctx.fill(); ctx.lineWidth = 1;
  }
  const at = (ref) => ({ lane: lanes[ref[0]], i: ref[1] });
  const arrowStarts = Float64Array.from(D.arrows.map((w) => at(w[0]).lane.end[w[0][1]]));
  function drawArrows() {
    const seen = [], first = lower(arrowStarts, view[0]);
    for (let k = first; k < D.arrows.length && arrowStarts[k] <= view[1] && seen.length <= 150; k++) seen.push(D.arrows[k]);
    if (seen.length <= 150) for (const w of seen) arrow(at(w[0]), at(w[1]), colors.arrow);
    if (!selected) return;
    for (const link of links(selected)) arrow(link[0], link[1], colors.select);
  }
  function links(s) {
    const found = [], same = (r) => lanes[r[0]] === s.lane && r[1] === s.i;
    if (s.lane.from && s.lane.from[s.i]) found.push([{ lane: at(s.lane.from[s.i]).lane, i: s.lane.from[s.i][1] }, s]);
    for (const w of D.arrows) if (same(w[0]) || same(w[1])) found.push([at(w[0]), at(w[1])]);
    return found;
  }
  function ask() { if (!asked) { asked = true; requestAnimationFrame(draw); } }
  function show(a, b) {
    const least = 20, span = Math.min(Math.max(b - a, least), (to0 - from0) * 1.05), low = from0 - (to0 - from0) * 0.025;
    a = Math.min(Math.max(a, low), low + (to0 - from0) * 1.05 - span); view = [a, a + span]; ask();
  }
  function zoom(factor, middle) { const m = middle === undefined ? (view[0] + view[1]) / 2 : middle; show(m - (m - view[0]) * factor, m + (view[1] - m) * factor); }
  function pan(share) { const d = (view[1] - view[0]) * share; show(view[0] + d, view[1] + d); }
  function find(px, py) {
    const lane = lanes.find((l) => py >= l.y && py < l.y + ROW);
    if (!lane || px < side) return null;
    const t = time(px), slack = 2 / (width - side) * (view[1] - view[0]);
    let i = lower(lane.start, t + slack) - 1;
    for (let k = 0; i >= 0 && k < 50; i--, k++) if (lane.end[i] + slack >= t) return { lane: lane, i: i };
    return null;
  }
  function describe(s) {
    const l = s.lane, i = s.i, digit = Math.max(1, Math.pow(10, Math.floor(Math.log10(Math.max(1, l.end[i] - l.start[i]))) - 2));
    const out = [D.names[l.name[i]] + "   " + ns(l.end[i] - l.start[i]) + ", from " + ns(l.start[i] - from0, digit) + " to " + ns(l.end[i] - from0, digit) + " (" + D.times + ")", l.group + ", " + l.label + (l.bytes && l.bytes[i] ? ", " + l.bytes[i].toLocaleString("en") + " bytes" + (l.end[i] > l.start[i] ? ", " + (l.bytes[i] / (l.end[i] - l.start[i])).toFixed(1) + " GB/s" : "") : "")];
    if (D.sites[l.site[i]]) out.push(D.sites[l.site[i]]);
    if (l.note && l.note[i]) out.push(D.notes[l.note[i]]);
    if (l.from && l.from[i]) { const a = at(l.from[i]); out.push("submitted " + ns(l.start[i] - a.lane.start[a.i]) + " before it began, by " + D.names[a.lane.name[a.i]]); }
    for (const w of D.arrows) {
      if (lanes[w[1][0]] === l && w[1][1] === i) { const a = at(w[0]); out.push("waits for " + D.names[a.lane.name[a.i]] + " on " + a.lane.group + ", " + a.lane.label + ", by " + D.sites[w[2]]); }
    }
    detail.textContent = out.join("\n");
  }
  function choose(s, moves) {
    selected = s;
    if (!s) { detail.textContent = "Click on an entry to see its times, the work that it waited for and the call that submitted it."; ask(); return; }
    describe(s);
    if (moves) {
      const a = s.lane.start[s.i], b = s.lane.end[s.i], room = Math.max((b - a) * 6, (view[1] - view[0]) * 0.02);
      if (a < view[0] || b > view[1] || (b - a) / (view[1] - view[0]) < 0.002) show((a + b) / 2 - room, (a + b) / 2 + room);
      box.scrollTop = Math.max(0, s.lane.y - box.clientHeight / 2);
    }
    ask();
  }
  function look(text) {
    needle = text.trim().toLowerCase(); hits = []; hitAt = -1;
    const names = D.names.map((n) => needle && n.toLowerCase().includes(needle)), sites = D.sites.map((n) => needle && n.toLowerCase().includes(needle));
    for (const lane of lanes) {
      lane.hit = needle ? new Uint8Array(lane.n) : null;
      if (needle) for (let i = 0; i < lane.n; i++) if (names[lane.name[i]] || sites[lane.site[i]]) { lane.hit[i] = 1; hits.push({ lane: lane, i: i }); }
    }
    hits.sort((a, b) => a.lane.start[a.i] - b.lane.start[b.i]);
    document.getElementById("count").textContent = needle ? hits.length + " found" : ""; ask();
  }
  function next(direction) { if (hits.length) { hitAt = (hitAt + direction + hits.length) % hits.length; choose(hits[hitAt], true); document.getElementById("count").textContent = (hitAt + 1) + " of " + hits.length; } }

  // At most the least and the greatest value of each pixel between two times, and the neighbours outside.
  function thin(all, a, b) {
    const [xs, ys, zs] = all, first = Math.max(0, lower(xs, a) - 1), last = Math.min(xs.length - 1, lower(xs, b)), out = [[], [], []];
    const put = (i) => { out[0].push(xs[i]); out[1].push(ys[i]); out[2].push(zs[i]); };
    if (last - first < 4 * width) { for (let i = first; i <= last; i++) put(i); return out; }
    const share = width / (b - a);
    for (let i = first; i <= last; ) {
      const pixel = Math.floor((xs[i] - a) * share); let low = i, high = i, k = i;
      for (; k <= last && Math.floor((xs[k] - a) * share) === pixel; k++) { if (ys[k] < ys[low]) low = k; if (ys[k] >= ys[high]) high = k; }
      put(Math.min(low, high)); if (low !== high) put(Math.max(low, high)); if (Math.max(low, high) !== k - 1) put(k - 1);
      i = k;
    }
    return out;
  }

  // memory
  const plots = [];
  let plot = null;
  function memory() {
    const host = document.getElementById("memory");
    host.textContent = ""; plots.length = 0;
    for (const m of D.memory) {
      const n = m.time.length + 1, xs = new Float64Array(n); let t = -from0;
      for (let i = 0; i < n - 1; i++) { t += m.time[i]; xs[i] = t; }
      xs[n - 1] = Math.max(to0 - from0, xs[n - 2]);
      const all = [xs, m.allocated.concat(m.allocated.slice(-1)), m.reserved.concat(m.reserved.slice(-1))], top = Math.max(1, all[2].reduce((a, b) => Math.max(a, b), 0)) * 1.08;
      const size = (v) => v >= 2 ** 30 ? (v / 2 ** 30).toFixed(2) + " GiB" : v >= 2 ** 20 ? (v / 2 ** 20).toFixed(1) + " MiB" : (v / 1024).toFixed(0) + " KiB";
      const stepped = uPlot.paths.stepped({ align: 1 }), axis = { stroke: colors.soft, grid: { stroke: colors.line, width: 1 }, ticks: { stroke: colors.line } };
      plots.push(new uPlot({ width: width, height: 130, title: "memory of " + m.device, padding: [null, 0, null, 0], cursor: { drag: { x: false, y: false }, sync: { key: "memory" } }, legend: { live: true },
        scales: { x: { time: false }, y: { range: () => [0, top] } },
        axes: [Object.assign({}, axis, { values: (u, v, axis, space, step) => v.map((t) => ns(t, step)), size: 26, space: 90 }), Object.assign({}, axis, { values: (u, v) => v.map(size), size: () => side, incrs: Array.from({ length: 50 }, (_, k) => 2 ** k) })],
        series: [{ label: "time", value: (u, v) => v == null ? "" : ns(v) },
          { label: "allocated", stroke: colors.kernel, fill: colors.shade, width: 1.5, paths: stepped, points: { show: false }, value: (u, v) => v == null ? "" : size(v) },
          { label: "reserved", stroke: colors.soft, dash: [4, 3], width: 1, paths: stepped, points: { show: false }, value: (u, v) => v == null ? "" : size(v) }] }, thin(all, 0, to0 - from0), host));
      plots[plots.length - 1].all = all;
    }
    plot = plots.length > 0;
  }

  // events
  let drag = null;
  canvas.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, view: view.slice(), moved: false }; canvas.setPointerCapture(e.pointerId); canvas.focus({ preventScroll: true }); });
  canvas.addEventListener("pointermove", (e) => {
    if (!drag) return;
    const d = (e.clientX - drag.x) / (width - side) * (drag.view[1] - drag.view[0]);
    if (Math.abs(e.clientX - drag.x) > 3) drag.moved = true;
    if (drag.moved) show(drag.view[0] - d, drag.view[1] - d);
  });
  canvas.addEventListener("pointerup", (e) => { const r = canvas.getBoundingClientRect(); if (drag && !drag.moved) choose(find(e.clientX - r.left, e.clientY - r.top), false); drag = null; });
  canvas.addEventListener("dblclick", (e) => { const r = canvas.getBoundingClientRect(), s = find(e.clientX - r.left, e.clientY - r.top); if (s) { const a = s.lane.start[s.i], b = s.lane.end[s.i]; show(a - (b - a), b + (b - a)); } });
  canvas.addEventListener("wheel", (e) => {
    const r = canvas.getBoundingClientRect();
    if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(Math.pow(1.0015, e.deltaY), time(e.clientX - r.left)); }
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); pan((e.deltaX || e.deltaY) / width); }
  }, { passive: false });
  const keys = { ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), a: () => pan(-0.15), d: () => pan(0.15), w: () => zoom(0.7), s: () => zoom(1.43), "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.43), "0": () => show(from0, to0), Home: () => show(from0, to0), n: () => next(1), N: () => next(-1), Escape: () => choose(null) };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === search) { if (e.key === "Enter") next(e.shiftKey ? -1 : 1); if (e.key === "Escape") { search.value = ""; look(""); canvas.focus(); } return; }
    if (e.key === "/") { e.preventDefault(); search.focus(); return; }
    if (e.key === "Enter" && e.target.dataset && e.target.dataset.from) { jump(e.target); return; }
    if (keys[e.key]) { if (e.key !== "Escape") e.preventDefault(); keys[e.key](); }
  });
  search.addEventListener("input", () => look(search.value));
  for (const [id, action] of [["in", () => zoom(0.6)], ["out", () => zoom(1.67)], ["all", () => show(from0, to0)]]) document.getElementById(id).addEventListener("click", action);
  function jump(row) { const a = Number(row.dataset.from), b = Number(row.dataset.to), room = (b - a) * 0.5; show(a - room, b + room); box.scrollIntoView({ block: "center" }); }
  document.addEventListener("click", (e) => { const row = e.target.closest && e.target.closest("tr[data-from]"); if (row) jump(row); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { style(); memory(); ask(); });
  box.addEventListener("scroll", ask);
  window.addEventListener("resize", fit);
  new ResizeObserver(refit).observe(box);
  style(); fit(); memory(); choose(null); refit(); draw();
  window.timeline = { get view() { return view; }, get selected() { return selected; }, get hits() { return hits.length; }, stats: stats, lanes: lanes, show: show, draw: draw, look: look };
})();
