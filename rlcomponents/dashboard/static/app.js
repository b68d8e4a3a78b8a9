// Asks the server once a second what is new, and shows it.
//
// Every word from a run (names, states, log lines) becomes text, never markup.
"use strict";

const POLL_MSECS = 1000;
const MAX_LOG_CHARACTERS = 300000;
const NUM_COLOURS = 8;
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

const page = {
  session: null,
  run: 0,
  shown: null, // Indices of the runs whose curves are drawn; null before the first answer.
  of: "evaluation",
  over: "agent_steps",
  curves: new Map(), // Index of a run: {version, points, problem}.
  log: null,
  offset: null,
  number: 0, // Of the last question; answers to earlier ones are thrown away.
  isHasty: false, // Whether to ask again at once.
  timer: null,
  last: null,
  drawn: "", // What the chart was drawn of.
};

// ---------------------------------------------------------------- words and numbers

const whole = (value) => Math.round(value).toLocaleString("en-GB");
const percent = (value) => `${Math.round(100 * value)} %`;
const known = (value) => value !== null && value !== undefined;

function short(value) {
  if (Math.abs(value) < 10) return value.toFixed(2);
  return Math.abs(value) < 100 ? value.toFixed(1) : whole(value);
}

function bytes(value) {
  return value < 1e9 ? `${(value / 1e6).toFixed(0)} MB` : `${(value / 1e9).toFixed(1)} GB`;
}

function duration(secs) {
  const two = (value) => String(Math.floor(value)).padStart(2, "0");
  const tail = `${two((secs / 60) % 60)}:${two(secs % 60)}`;
  return secs >= 3600 ? `${Math.floor(secs / 3600)}:${tail}` : tail.replace(/^0/, "");
}

function compact(value) {
  const size = Math.abs(value);
  const [unit, word] = size >= 1e9 ? [1e9, " G"] : size >= 1e6 ? [1e6, " M"] : size >= 1e4 ? [1e3, " k"] : [1, ""];
  return `${Number((value / unit).toPrecision(6))}${word}`;
}

const rate = (value, what) => `${short(value)}${what && ` ${what}`}/s`;

// ---------------------------------------------------------------------- the document

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setClass(node, className) {
  if (node.className !== className) node.className = className;
}

// Keeps one child for each item, so that focus and selection outlive an answer.
function keep(parent, items, key, make, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  items.forEach((item, position) => {
    let child = before.get(key(item));
    if (!child) {
      child = make(item);
      child.dataset.key = key(item);
    }
    before.delete(key(item));
    if (parent.children[position] !== child) parent.insertBefore(child, parent.children[position] ?? null);
    update(child, item, position);
  });
  for (const child of before.values()) child.remove();
}

const colourOf = (index) => `c${index % NUM_COLOURS} d${Math.floor(index / NUM_COLOURS) % 3}`;

// ---------------------------------------------------------------------------- asking

function question() {
  const query = new URLSearchParams({ run: page.run, of: page.of, over: page.over });
  for (const index of page.shown ?? [0]) query.append("curve", `${index}:${page.curves.get(index)?.version ?? ""}`);
  if (page.log !== null) query.set("log", page.log);
  if (page.log !== null && page.offset !== null) query.set("offset", page.offset);
  return `poll?${query}`;
}

async function poll() {
  clearTimeout(page.timer);
  page.number += 1;
  const number = page.number;
  page.isHasty = false;
  try {
    const response = await fetch(question(), { signal: AbortSignal.timeout(20000) });
    if (!response.ok) throw new Error(await response.text());
    const answer = await response.json();
    if (number === page.number) show(answer);
  } catch (error) {
    const isNetwork = error instanceof TypeError || error.name === "TimeoutError";
    const words = isNetwork ? "No answer: is launch/dashboard.py still running?" : error.message;
    say($("connection"), words);
    setClass($("connection"), "bad state");
  }
  if (number === page.number) page.timer = setTimeout(poll, page.isHasty ? 0 : POLL_MSECS);
}

function show(answer) {
  if (page.session !== null && page.session !== answer.session) {
    location.reload(); // Another dashboard answers at this address.
    return;
  }
  page.session = answer.session;
  page.last = answer;
  if (page.shown === null) {
    page.shown = new Set(answer.runs.slice(0, NUM_COLOURS).keys());
    page.isHasty = true; // For the curves of the others.
  }
  say($("connection"), `As of ${new Date().toLocaleTimeString("en-GB")}`);
  setClass($("connection"), "good state");
  for (const [index, curve] of Object.entries(answer.curves)) {
    if (curve.points) page.curves.set(Number(index), curve);
  }
  showRuns(answer.runs);
  showRun(answer.runs[page.run], answer.details);
  showGraph(answer.details);
  showChartIfNew(Object.values(answer.curves));
  showNodes(answer.details);
  showLog(answer.details.logs ?? [], answer.log);
}

// ------------------------------------------------------------------------------ runs

function showRuns(runs) {
  keep($("runs"), runs.map((run, index) => ({ ...run, index })), (run) => String(run.index), makeRun, (row, run) => {
    const [curve, , agent, environment, seed, state] = row.children;
    curve.querySelector("input").checked = page.shown.has(run.index);
    row.setAttribute("aria-current", String(run.index === page.run));
    say(agent, String(run.agent ?? ""));
    say(environment, String(run.environment ?? ""));
    say(seed, String(run.seed ?? ""));
    say(state, run.status);
    setClass(state, `${run.level} state`);
  });
}

function makeRun(run) {
  const box = element("input");
  box.type = "checkbox";
  box.setAttribute("aria-label", `Draw the curve of ${run.name}`);
  box.addEventListener("change", () => {
    if (box.checked) page.shown.add(run.index);
    else page.shown.delete(run.index);
    poll();
  });
  const look = element("button", "", run.name);
  look.type = "button";
  look.addEventListener("click", () => {
    page.run = run.index;
    page.log = page.offset = null;
    $("log").textContent = "";
    poll();
  });
  const name = element("th", "", look);
  name.scope = "row";
  const swatch = element("label", "swatch", box, element("span", `key ${colourOf(run.index)}`));
  return element("tr", "", element("td", "", swatch), name, element("td"), element("td"), element("td", "number"), element("td"));
}

function showRun(run, details) {
  say($("run-title"), run.name);
  say($("run-state"), run.status);
  setClass($("run-state"), `badge ${run.level} state`);
  document.title = `${run.name}: ${run.status}`;
  keep($("problems"), [...new Set(details.problems)], (text) => text, (text) => element("p", "problem", text), () => {});
  const totals = details.totals ?? {};
  showProgress(totals, details.max_steps, run.level === "good");
  const evaluation = details.evaluation ?? {};
  const spread = known(evaluation.standard_error) ? `± ${short(evaluation.standard_error)}, ` : "";
  const fill = totals.replay_capacity_items > 0 && known(totals.replay_items);
  const all = [
    ["agent steps", totals.steps_per_sec, (value) => rate(value, ""), known(totals.agent_steps) && `${whole(totals.agent_steps)} taken`],
    ["frames", totals.frames_per_sec, (value) => rate(value, ""), known(totals.environment_frames) && `${whole(totals.environment_frames)} seen`],
    ["updates", totals.updates_per_sec, (value) => rate(value, ""), known(totals.updates) && `${whole(totals.updates)} applied`],
    ["training return", totals.train_return, short, known(totals.episodes) && `${whole(totals.episodes)} episodes`],
    ["evaluation", evaluation.mean_return, short, known(evaluation.agent_steps) && `${spread}step ${whole(evaluation.agent_steps)}`],
    ["staleness", totals.mean_staleness_updates, short, "mean, in updates"],
    ["discarded", totals.discarded, whole, "so far"],
    ["replay", fill ? totals.replay_items / totals.replay_capacity_items : null, percent, fill && `${whole(totals.replay_items)} items`],
    ["wall time", totals.wall_secs, duration, totals.waiting ? String(totals.waiting) : false],
  ].filter(([, value]) => known(value));
  keep($("totals"), all, ([name]) => name, ([name]) => element("div", "", element("dt", "", name), element("dd", "", element("span"), element("small"))), (tile, [, value, words, more]) => {
    say(tile.querySelector("span"), words(value));
    say(tile.querySelector("small"), more || "");
  });
}

function showProgress(totals, maxSteps, isRunning) {
  const has = known(totals.agent_steps) && maxSteps > 0;
  $("progress").hidden = !has;
  if (!has) return;
  const done = Math.min(1, totals.agent_steps / maxSteps);
  $("progress-bar").value = done;
  const left = isRunning && totals.steps_per_sec > 0 && done < 1 ? `, ${duration((maxSteps - totals.agent_steps) / totals.steps_per_sec)} left` : "";
  say($("progress-words"), `${percent(done)} of ${whole(maxSteps)} agent steps${left}`);
}

// ----------------------------------------------------------------------------- graph

function linesOf(group) {
  const lines = [];
  const add = (value, words) => known(value) && lines.push(words(value));
  const isLive = known(group.steps_per_sec);
  add(group.agent_steps_per_sec, (value) => rate(value, "steps"));
  if (!isLive) add(group.agent_steps, (value) => `${whole(value)} steps`);
  add(group.updates_per_sec, (value) => rate(value, "updates"));
  if (!isLive) add(group.updates, (value) => `${whole(value)} updates`);
  if (known(group.inserts_per_sec) && known(group.samples_per_sec)) lines.push(`${short(group.inserts_per_sec)} in/s, ${short(group.samples_per_sec)} out/s`);
  add(group.staleness_updates, (value) => `staleness ${short(value)}`);
  if (group.discarded > 0) lines.push(`${whole(group.discarded)} discarded`);
  if (group.memory_bytes > 0) lines.push(`CPU ${percent(group.cpu_fraction)}, ${bytes(group.memory_bytes)}`);
  const busy = group.levels.filter((level) => level === "busy").length;
  const bad = group.levels.filter((level) => level === "bad").length;
  if (busy + bad) lines.push([busy ? `${busy} waiting` : "", bad ? `${bad} in trouble` : ""].filter(Boolean).join(", "));
  return lines;
}

function noNodes() {
  const hasBegun = known(page.last.details.totals);
  return hasBegun ? "This run noted nothing of its nodes." : "No node has been started yet.";
}

// Whoever is called stands to the right of its callers.
function depthsOf(groups) {
  const calls = new Map(groups.map((group) => [group.name, group.calls]));
  const depths = new Map();
  const depth = (name, path) => {
    if (!depths.has(name)) {
      const next = (calls.get(name) ?? []).filter((called) => calls.has(called) && !path.includes(called) && called !== name);
      depths.set(name, next.length ? 1 + Math.max(...next.map((called) => depth(called, [...path, name]))) : 0);
    }
    return depths.get(name);
  };
  for (const group of groups) depth(group.name, []);
  return depths;
}

function showGraph(details) {
  const groups = details.groups;
  const knowsCalls = groups.some((group) => group.calls.length);
  say($("graph-note"), !groups.length ? noNodes() : knowsCalls ? "An arrow leads from a node to one that it calls." : "This run did not note who calls whom.");
  if (!groups.length) {
    $("graph").replaceChildren();
    return;
  }
  const width = Math.max(280, $("graph").clientWidth);
  const depths = depthsOf(groups);
  const numColumns = 1 + Math.max(...depths.values());
  const gap = numColumns > 1 ? Math.min(110, width / (3.6 * numColumns)) : 0;
  const boxWidth = Math.min(250, (width - gap * (numColumns - 1)) / numColumns);
  const left = (width - numColumns * boxWidth - (numColumns - 1) * gap) / 2;
  const columns = Array.from({ length: numColumns }, () => []);
  for (const group of groups) {
    const lines = linesOf(group);
    const bar = group.replay_capacity_items > 0 ? 20 : 0;
    columns[numColumns - 1 - depths.get(group.name)].push({ group, lines, height: 56 + 17 * lines.length + bar });
  }
  const between = 14;
  const heightOf = (column) => column.reduce((sum, box) => sum + box.height + between, -between);
  const height = Math.max(...columns.map(heightOf)) + 4;
  const places = new Map();
  columns.forEach((column, number) => {
    let top = (height - heightOf(column)) / 2;
    for (const box of column) {
      places.set(box.group.name, { ...box, x: left + number * (boxWidth + gap), y: top });
      top += box.height + between;
    }
  });
  const words = groups.map((group) => `${group.name} x ${group.levels.length}${group.calls.length ? `, calls ${group.calls.join(" and ")}` : ""}: ${linesOf(group).join(", ")}`).join("; ");
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
  const marker = drawn("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" });
  marker.append(drawn("path", { d: "M0 0 10 5 0 10z", class: "arrow" }));
  picture.append(marker);
  for (const place of places.values()) {
    for (const name of place.group.calls) {
      const to = places.get(name);
      if (to && to !== place) picture.append(callLine(place, to, boxWidth));
    }
  }
  for (const place of places.values()) drawBox(picture, place, boxWidth);
  $("graph").replaceChildren(picture);
}

function callLine(from, to, boxWidth) {
  const isForward = to.x > from.x;
  const [x1, x2] = isForward ? [from.x + boxWidth, to.x - 2] : [from.x, to.x + boxWidth + 2];
  const y1 = from.y + from.height / 2;
  const y2 = to.y + to.height * (0.5 + 0.3 * Math.sign(Math.round(y1 - to.y - to.height / 2)));
  const middle = (x1 + x2) / 2;
  return drawn("path", { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, class: "call", "marker-end": "url(#arrow)" });
}

function drawBox(picture, { group, lines, height, x, y }, boxWidth) {
  const isBad = group.levels.includes("bad");
  picture.append(drawn("rect", { x: x + 1, y: y + 1, width: boxWidth - 2, height: height - 2, rx: 8, class: isBad ? "box bad" : "box" }));
  picture.append(drawn("text", { x: x + 12, y: y + 22, class: "title" }, `${group.name} × ${group.levels.length}`));
  const room = Math.max(1, Math.floor((boxWidth - 50) / 13));
  group.levels.slice(0, room).forEach((level, index) => {
    picture.append(drawn("circle", { cx: x + 17 + 13 * index, cy: y + 35, r: 4, class: `dot ${level}` }));
  });
  if (group.levels.length > room) picture.append(drawn("text", { x: x + 17 + 13 * room, y: y + 39, class: "soft" }, `+${group.levels.length - room}`));
  lines.forEach((line, index) => {
    picture.append(drawn("text", { x: x + 12, y: y + 60 + 17 * index }, line));
  });
  if (group.replay_capacity_items > 0) {
    const top = y + 54 + 17 * lines.length;
    const fill = Math.min(1, (group.replay_items ?? 0) / group.replay_capacity_items);
    const room = boxWidth - 100;
    picture.append(drawn("rect", { x: x + 12, y: top, width: room, height: 6, rx: 3, class: "track" }));
    picture.append(drawn("rect", { x: x + 12, y: top, width: room * fill, height: 6, rx: 3, class: "filled" }));
    picture.append(drawn("text", { x: x + room + 18, y: top + 7, class: "soft" }, `${percent(fill)} full`));
  }
}

// ---------------------------------------------------------------------------- curves

const SECS_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400];

function ticks(low, high, most, isTime) {
  const span = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / most));
  const nice = [1, 2, 5, 10].map((factor) => factor * power).find((step) => span / step <= most);
  const step = (isTime && SECS_STEPS.find((secs) => span / secs <= most)) || nice;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

// Else the values under the pointer would go away once a second.
function showChartIfNew(curves) {
  const choice = `${page.of} ${page.over} ${[...page.shown]}`;
  if (curves.some((curve) => curve.points) || choice !== page.drawn) showChart();
  page.drawn = choice;
}

function showChart() {
  const chosen = [...page.shown].sort((a, b) => a - b).map((index) => ({ index, name: page.last.runs[index].name, ...page.curves.get(index) }));
  const curves = chosen.filter((curve) => curve.points?.length);
  keep($("legend"), chosen, (curve) => String(curve.index), (curve) => element("li", "", element("span", `key ${colourOf(curve.index)}`), element("span", "", curve.name), element("b")), (item, curve) => {
    const end = curve.points?.at(-1);
    say(item.lastChild, end ? short(end[1]) : curve.problem ?? "");
  });
  if (!curves.length) {
    $("chart").replaceChildren(element("p", "note", chosen.length ? "Nothing to draw yet." : "No run is ticked above."));
    return;
  }
  const width = Math.max(280, $("chart").clientWidth);
  const frame = { left: 48, right: 14, top: 12, bottom: 40, height: Math.min(340, 200 + width / 6) };
  const all = curves.flatMap((curve) => curve.points);
  const reach = all.flatMap(([, mean, error]) => [mean - (error ?? 0), mean + (error ?? 0)]);
  let [low, high] = [Math.min(...reach), Math.max(...reach)];
  if (high - low < 1e-9) [low, high] = [low - 1, high + 1];
  const pad = (high - low) * 0.06;
  [low, high] = [low - pad, high + pad];
  const end = Math.max(...all.map(([position]) => position)) || 1;
  const bottom = frame.height - frame.bottom;
  const right = width - frame.right;
  const px = (position) => frame.left + (position / end) * (right - frame.left);
  const py = (value) => bottom - ((value - low) / (high - low)) * (bottom - frame.top);
  const xy = ([position, mean]) => `${px(position).toFixed(1)},${py(mean).toFixed(1)}`;
  const words = curves.map((curve) => `${curve.name}: ${short(curve.points.at(-1)[1])} at ${compact(curve.points.at(-1)[0])}`).join("; ");
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${frame.height}`, role: "img", "aria-label": `Returns. ${words}` });
  for (const value of ticks(low, high, 6, false)) {
    picture.append(drawn("line", { x1: frame.left, x2: right, y1: py(value), y2: py(value), class: "grid" }));
    picture.append(drawn("text", { x: frame.left - 8, y: py(value) + 4, "text-anchor": "end", class: "soft" }, compact(value)));
  }
  const isTime = page.over === "wall_secs";
  for (const position of ticks(0, end, width < 500 ? 4 : 6, isTime)) {
    picture.append(drawn("text", { x: px(position), y: bottom + 18, "text-anchor": "middle", class: "soft" }, isTime ? duration(position) : compact(position)));
  }
  picture.append(drawn("text", { x: right, y: bottom + 35, "text-anchor": "end", class: "soft" }, $("over").selectedOptions[0].textContent));
  for (const { index, points } of curves) {
    const withError = points.filter(([, , error]) => known(error));
    if (withError.length > 1) {
      const upper = withError.map(([position, mean, error]) => xy([position, mean + error]));
      const lower = withError.map(([position, mean, error]) => xy([position, mean - error])).reverse();
      picture.append(drawn("polygon", { points: [...upper, ...lower].join(" "), class: `band ${colourOf(index)}` }));
    }
  }
  for (const { index, points } of curves) {
    picture.append(drawn("polyline", { points: points.map(xy).join(" "), class: `curve ${colourOf(index)}` }));
    if (points.length === 1 || (page.of === "evaluation" && points.length <= 40)) {
      for (const point of points) picture.append(drawn("circle", { cx: px(point[0]), cy: py(point[1]), r: 3, class: `point ${colourOf(index)}` }));
    }
  }
  addReadout(picture, curves, { px, frame, bottom, end, right, width });
  $("chart").replaceChildren(picture);
}

// Under the pointer: a line, and in the legend the values next to it.
function addReadout(picture, curves, { px, frame, bottom, end, right, width }) {
  const cross = drawn("line", { y1: frame.top, y2: bottom, class: "cross", visibility: "hidden" });
  picture.append(cross);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    const position = ((x - frame.left) / (right - frame.left)) * end;
    const distance = (point) => Math.abs(point[0] - position);
    for (const curve of curves) {
      const nearest = curve.points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
      const where = page.over === "wall_secs" ? duration(nearest[0]) : compact(nearest[0]);
      say($("legend").querySelector(`[data-key="${curve.index}"]`).lastChild, `${short(nearest[1])} at ${where}`);
    }
    const inside = Math.min(right, Math.max(frame.left, x));
    cross.setAttribute("x1", inside);
    cross.setAttribute("x2", inside);
    cross.setAttribute("visibility", "visible");
  });
  picture.addEventListener("pointerleave", showChart);
}

// ----------------------------------------------------------------------------- nodes

const fillOf = (node) => (node.replay_capacity_items > 0 && known(node.replay_items) ? node.replay_items / node.replay_capacity_items : null);
const NODE_COLUMNS = [
  ["Steps/s", (node) => node.agent_steps_per_sec, short],
  ["Updates/s", (node) => node.updates_per_sec, short],
  ["Steps", (node) => node.agent_steps, whole],
  ["Updates", (node) => node.updates, whole],
  ["Replay", fillOf, percent],
  ["In/s", (node) => node.inserts_per_sec, short],
  ["Out/s", (node) => node.samples_per_sec, short],
  ["Staleness", (node) => node.staleness_updates, short],
  ["Discarded", (node) => node.discarded, whole],
  ["CPU", (node) => (node.memory_bytes ? node.cpu_fraction : null), percent],
  ["Memory", (node) => node.memory_bytes || null, bytes],
];

function showNodes(details) {
  const nodes = details.nodes;
  const columns = NODE_COLUMNS.filter(([, value]) => nodes.some((node) => known(value(node))));
  const heads = nodes.length ? ["Node", "State", ...columns.map(([title]) => title), "Log"] : [];
  keep($("node-columns"), heads, (title) => title, (title) => {
    const head = element("th", columns.some(([name]) => name === title) ? "number" : "", title);
    head.scope = "col";
    return head;
  }, () => {});
  keep($("nodes"), nodes, (node) => node.name, makeNode, (row, node) => {
    say(row.querySelector(".words"), node.words);
    setClass(row.querySelector(".words"), `words state ${node.level}`);
    row.querySelector("button").hidden = node.log === null;
    row.querySelector("button").dataset.log = node.log ?? "";
    keepNumbers(row, columns, node);
  });
  const shared = details.process;
  say($("nodes-note"), !nodes.length ? noNodes() : shared ? `All nodes share one process: CPU ${percent(shared.cpu_fraction)}, memory ${bytes(shared.memory_bytes)}.` : "");
}

function makeNode(node) {
  const name = element("th", "", node.name);
  name.scope = "row";
  const button = element("button", "", "show");
  button.type = "button";
  button.setAttribute("aria-label", `Show the log of ${node.name}`);
  button.addEventListener("click", () => {
    chooseLog(button.dataset.log);
    $("log").scrollIntoView({ block: "nearest" });
  });
  return element("tr", "", name, element("td", "words"), element("td", "", button));
}

// The cells between a node's state and its button.
function keepNumbers(row, columns, node) {
  while (row.children.length < columns.length + 3) row.insertBefore(element("td", "number"), row.lastChild);
  while (row.children.length > columns.length + 3) row.children[2].remove();
  columns.forEach(([, value, words], number) => {
    say(row.children[2 + number], known(value(node)) ? words(value(node)) : "");
  });
}

// ------------------------------------------------------------------------------ logs

function chooseLog(name) {
  page.log = name;
  page.offset = null;
  $("log").textContent = "";
  $("log-name").value = name;
  poll();
}

function showLog(names, piece) {
  const chooser = $("log-name");
  keep(chooser, names, (name) => name, (name) => new Option(name, name), () => {});
  chooser.disabled = !names.length;
  if (page.log === null && names.length) {
    page.log = names[0];
    page.isHasty = true;
  }
  if (page.log !== null && chooser.value !== page.log) chooser.value = page.log;
  if (!piece) {
    say($("log-note"), names.length ? "" : "There is no log yet.");
    return;
  }
  say($("log-note"), piece.problem ?? (piece.text || $("log").textContent ? "" : "Nothing was printed yet."));
  if (piece.problem) return;
  page.offset = piece.offset_bytes;
  const log = $("log");
  const follows = log.scrollTop + log.clientHeight >= log.scrollHeight - 30;
  if (piece.is_fresh_start) log.textContent = piece.text;
  else if (piece.text) log.append(piece.text);
  if (log.textContent.length > MAX_LOG_CHARACTERS) log.textContent = log.textContent.slice(-MAX_LOG_CHARACTERS / 2);
  if (follows) log.scrollTop = log.scrollHeight;
}

// --------------------------------------------------------------------------- choices

for (const name of ["of", "over"]) {
  $(name).addEventListener("change", (event) => {
    page[name] = event.target.value;
    page.curves.clear();
    poll();
  });
  page[name] = $(name).value; // Browsers keep a choice when a page is loaded again.
}
$("log-name").addEventListener("change", (event) => chooseLog(event.target.value));
window.addEventListener("resize", () => page.last && (showGraph(page.last.details), showChart()));
poll();
