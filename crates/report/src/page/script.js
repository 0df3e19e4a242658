"use strict";
(() => {
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (name, text, parent) => {
  const made = document.createElement(name);
  made.textContent = text;
  if (parent) parent.append(made);
  return made;
};
const svg = (name, attributes, parent, text) => {
  const made = document.createElementNS(parent.namespaceURI, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
};
const shown = (value) => Number(value.toPrecision(3)).toString();

// Axes: kind, ends of the range, and their pixels.
const read = (plot, axis) => {
  const [kind, ...ends] = plot.getAttribute("data-" + axis).split(" ");
  const [low, high, from, to] = ends.map(Number);
  return { log: kind === "log", low, high, from, to };
};
const place = (a, value) => a.from + (a.to - a.from) * (a.log
  ? Math.log(Math.max(value, a.low) / a.low) / Math.log(a.high / a.low)
  : (value - a.low) / (a.high - a.low));
const value = (a, pixel) => {
  const share = (pixel - a.from) / (a.to - a.from);
  return a.log ? a.low * (a.high / a.low) ** share : a.low + share * (a.high - a.low);
};
const steps = (a, most) => {
  const coarse = 10 ** Math.ceil(Math.log10(a.high - a.low));
  let best = [];
  for (let tens = 0; tens < 4; tens++) for (const part of [1, 0.5, 0.2]) {
    const step = coarse * part / 10 ** tens, found = [];
    for (let n = Math.ceil(a.low / step); n * step <= a.high * 1.000001; n++) found.push(n * step);
    if (best.length >= 3 && found.length > most) return best;
    best = found;
  }
  return best;
};
const marks = (a, most) => {
  if (!a.log) return steps(a, most);
  for (const units of [[1, 2, 5], [1]]) {
    let found = [];
    for (let d = Math.floor(Math.log10(a.low)); d <= Math.ceil(Math.log10(a.high)); d++)
      for (const unit of units) found.push(unit * 10 ** d);
    found = found.filter((v) => v >= a.low * 0.999999 && v <= a.high * 1.000001);
    if (found.length >= 3 && (found.length <= most || units.length === 1)) return found;
  }
  return steps(a, most);
};
// Points of a line or a shape, and places of texts, in values of the axis.
const pairs = (line) => line.getAttribute("points").split(" ").map((pair) => pair.split(",").map(Number));
const data = (plot) => all(".series .line", plot).flatMap(pairs);
const redraw = (plot, axis, to) => {
  const own = axis === "x" ? 0 : 1, old = read(plot, axis);
  const move = (pixel) => Math.round(10 * place(to, value(old, pixel))) / 10;
  for (const line of all("polyline, polygon", plot))
    line.setAttribute("points", pairs(line).map((pair) => { pair[own] = move(pair[own]); return pair.join(); }).join(" "));
  for (const text of all(".at", plot)) text.setAttribute(axis, move(Number(text.getAttribute(axis))));
  plot.setAttribute("data-" + axis, [to.log ? "log" : "lin", to.low, to.high, to.from, to.to].join(" "));
  const group = plot.querySelector(".t" + axis), other = read(plot, own ? "x" : "y");
  group.replaceChildren();
  for (const mark of marks(to, own ? 6 : 7)) {
    const at = place(to, mark), text = String(Number(mark.toPrecision(6)));
    svg("line", own ? { class: "grid", x1: other.from, x2: other.to, y1: at, y2: at }
      : { class: "grid", x1: at, x2: at, y1: other.from, y2: other.to }, group);
    svg("text", own ? { x: other.from - 6, y: at + 4, "text-anchor": "end" }
      : { x: at, y: other.from + 16, "text-anchor": "middle" }, group, text);
  }
};
for (const figure of all("figure[data-axes]")) for (const axis of figure.dataset.axes) {
  const plots = all(".plot", figure), own = axis === "x" ? 0 : 1;
  if (!plots.length) continue;
  const first = plots.map((plot) => read(plot, axis));
  const positive = plots.flatMap((plot, n) => data(plot).map((pair) => value(first[n], pair[own]))).filter((v) => v > 1e-6);
  if (!positive.length) continue;
  const least = positive.reduce((a, b) => Math.min(a, b));
  const button = make("button", "");
  button.type = "button";
  let other = false;
  const name = () => { button.textContent = axis + " axis: " + (first[0].log !== other ? "logarithmic" : "linear"); };
  button.onclick = () => {
    other = !other;
    plots.forEach((plot, n) => {
      const a = first[n];
      redraw(plot, axis, !other ? a : a.log ? { ...a, log: false, low: 0 } : { ...a, log: true, low: Math.min(least, a.high / 10) });
    });
    name();
  };
  name();
  button.className = "axes";
  figure.querySelector("figcaption").before(button);
}

// Legends hide and show series.
for (const key of all(".key[data-series]")) {
  key.setAttribute("role", "button");
  key.setAttribute("aria-pressed", "true");
  key.tabIndex = 0;
  key.onclick = () => {
    const on = key.getAttribute("aria-pressed") === "false";
    key.setAttribute("aria-pressed", on);
    for (const part of all(".plot ." + key.dataset.series, key.closest("figure"))) part.classList.toggle("off", !on);
  };
  key.onkeydown = (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); key.click(); }
  };
}

// One of several figures.
for (const pick of all(".pick")) {
  const options = all(":scope > details", pick);
  pick.classList.add("live");
  const label = make("label", pick.dataset.label + " ");
  const names = options.map((option) => option.querySelector("summary").textContent);
  if (options.length < 2) make("b", names[0], label);
  else {
    const select = make("select", "", label);
    for (const name of names) make("option", name, select);
    select.onchange = () => options.forEach((option, n) => {
      option.open = n === select.selectedIndex;
      option.hidden = !option.open;
    });
    select.onchange();
  }
  pick.prepend(label);
}

// Values under the pointer.
const tip = make("div", "", document.body);
tip.className = "tip";
tip.hidden = true;
for (const plot of all(".plot[data-x]")) {
  plot.onpointermove = (event) => {
    const box = plot.getBoundingClientRect(), scale = plot.viewBox.baseVal.width / box.width;
    const x = read(plot, "x"), y = read(plot, "y"), at = (event.clientX - box.left) * scale;
    const rows = [];
    for (const series of all(".series:not(.off)", plot)) {
      let near = null;
      for (const pair of all(".line", series).flatMap(pairs))
        if (!near || Math.abs(pair[0] - at) < Math.abs(near[0] - at)) near = pair;
      if (near && Math.abs(near[0] - at) < 30) rows.push(series.dataset.name + ": " + shown(value(y, near[1])));
    }
    tip.hidden = !rows.length || at < x.from || at > x.to;
    tip.textContent = shown(value(x, at)) + "\n" + rows.join("\n");
    tip.style.left = Math.max(0, Math.min(event.pageX + 14, document.documentElement.clientWidth - tip.offsetWidth - 4)) + "px";
    tip.style.top = event.pageY + 14 + "px";
  };
  plot.onpointerleave = () => { tip.hidden = true; };
}

// Tables as comma-separated values.
for (const table of all("table")) {
  const button = make("button", "Copy as CSV");
  button.type = "button";
  button.className = "csv";
  button.onclick = async () => {
    const cell = (one) => '"' + one.innerText.replace(/\s*\n\s*/g, " ").trim().replace(/"/g, '""') + '"';
    const text = [...table.rows].map((row) => [...row.cells].map(cell).join(",")).join("\n") + "\n";
    try { await navigator.clipboard.writeText(text); } catch {
      const area = make("textarea", text, document.body);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy as CSV"; }, 1500);
  };
  table.parentElement.after(button);
}
})();
