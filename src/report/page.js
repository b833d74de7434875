/* The charts of the page: values under the pointer and with the arrow keys, lines that can be
   switched off, zoom into time. Without this script the charts are pictures. The script reads the
   values from the curves, whose coordinates are the values or their logarithms. */
"use strict";
(() => {
  const WIDTH = 460; // of a drawing, in its own units
  const CLOCK_STEPS = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];
  const TIMES = [[1e3, "s"], [1, "ms"], [1e-3, "us"], [1e-6, "ns"]];

  const number = (value) => value >= 99.95 ? Math.round(value).toLocaleString("en-US")
    : String(Number(value.toPrecision(3)));

  function withUnit(value, unit) {
    if (unit !== "ms") {
      return number(value) + (unit && " " + unit);
    }
    const [factor, name] = TIMES.find((time) => value >= time[0] * 0.999) || TIMES[3];
    return number(value / factor) + " " + name;
  }

  function element(name, text, className = "") {
    const made = document.createElement(name);
    made.textContent = text;
    made.className = className;
    return made;
  }

  /* Returns [from, to, value] of each level, or of each dot when the curve has no levels. */
  function readLevels(path) {
    const levels = [], isDots = !path.includes("H");
    let x = 0, y = 0;
    for (const [, letter, text] of path.matchAll(/([MLHV])([^MLHV]*)/g)) {
      const [first, second] = text.split(" ").map(Number);
      if (letter === "H" || isDots) {
        levels.push(isDots ? [first, first, second] : [x, first, y]);
      }
      x = letter === "V" ? x : first;
      y = letter === "V" ? first : letter === "H" ? y : second;
    }
    return levels;
  }

  class Chart {
    constructor(figure, showAll) {
      this.svg = figure.querySelector("svg");
      this.plot = figure.querySelector(".plot");
      this.xAxis = figure.querySelector(".x");
      ({unit: this.unit, across: this.across, log: this.logs} = figure.dataset);
      this.showAll = this.across === "time" ? showAll : () => {};
      const [x, y, width, height] = ["x", "y", "width", "height"]
        .map((name) => Number(this.plot.getAttribute(name)));
      this.frame = {x, y, width, height};
      const [low, top, span, up] = this.plot.getAttribute("viewBox").split(" ").map(Number);
      this.up = [top, up];
      this.whole = this.view = [low, low + span];
      this.lines = [...this.plot.querySelectorAll("g[class]")].map((group) => ({group, name: "",
        levels: readLevels(group.firstChild.getAttribute("d"))}));
      this.tip = figure.appendChild(element("div", "", "tip"));
      this.tip.setAttribute("role", "status");
      this.cursor = this.draw(this.svg, "path", {class: "cursor"});
      this.chosen = this.draw(this.svg, "rect", {class: "chosen", y, height});
      figure.querySelectorAll(".key").forEach((key, i) => this.makeSwitch(key, this.lines[i]));
      this.listen();
      this.hide();
    }

    draw(parent, name, attributes, text = "") {
      const made = document.createElementNS(this.svg.namespaceURI, name);
      Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
      made.textContent = text;
      return parent.appendChild(made);
    }

    /* Makes the name of a line switch the line off and on. */
    makeSwitch(button, line) {
      line.name = button.textContent;
      line.button = button;
      button.disabled = false;
      button.addEventListener("click", () => {
        line.isHidden = !line.isHidden;
        line.group.style.display = line.isHidden ? "none" : "";
        button.setAttribute("aria-pressed", !line.isHidden);
      });
    }

    toX(at) {
      return this.frame.x + (at - this.view[0]) / (this.view[1] - this.view[0]) * this.frame.width;
    }

    /* Returns the value on the x axis below the pointer. */
    fromPointer(event) {
      const box = this.svg.getBoundingClientRect(), {x, width} = this.frame;
      const share = ((event.clientX - box.left) * WIDTH / box.width - x) / width;
      return this.view[0] + Math.min(1, Math.max(0, share)) * (this.view[1] - this.view[0]);
    }

    /* Formats seconds as on the axis: 12.5; 7:30 if the axis has five minutes or more; 1:05:00 if it
       has an hour or more. */
    clock(seconds, decimals) {
      const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
      const two = (value, wide = 2) => value.padStart(wide, "0");
      const rest = two((seconds - minutes * 60).toFixed(decimals), decimals > 0 ? decimals + 3 : 2);
      return this.whole[1] < 300 ? seconds.toFixed(decimals)
        : this.whole[1] < 3600 ? minutes + ":" + rest
          : hours + ":" + two(String(minutes % 60)) + ":" + rest;
    }

    place(at) {
      const digits = at < 3 ? 3 : Math.ceil(at) + 1;
      const words = {
        time: () => this.whole[1] < 300 ? number(at) + " s" : this.clock(Math.floor(at), 0),
        percentile: () => "p" + Number((100 - 100 / 10 ** at).toPrecision(digits)),
        share: () => number(at) + " % of the sessions",
        rows: () => number(at) + " rows",
        sessions: () => number(this.logs.includes("x") ? 10 ** at : at) + " sessions"
      };
      return words[this.across]();
    }

    /* Shows each line's value at a place: the line's level, or the line's nearest dot. */
    select(at, isSpoken) {
      const distance = (level) => Math.abs(level[0] - at);
      const found = this.lines.filter((line) => !line.isHidden && line.levels.length > 0).map((line) => ({line,
        level: this.across === "sessions"
          ? line.levels.reduce((best, next) => distance(next) < distance(best) ? next : best)
          : line.levels.find(([from, to]) => from <= at && at <= to)
      })).filter((one) => one.level);
      if (found.length === 0) {
        return this.hide();
      }
      this.at = this.across === "sessions" ? found[0].level[0] : at;
      const x = this.toX(this.at), {y, height} = this.frame;
      this.cursor.setAttribute("d", `M${x} ${y}V${y + height}`);
      this.cursor.style.display = this.tip.style.display = "";
      this.tip.setAttribute("aria-live", isSpoken ? "polite" : "off");
      this.tip.replaceChildren(element("b", this.place(this.at)), ...found.map(({line, level}) => {
        const value = this.logs.includes("y") ? 10 ** level[2] : level[2];
        const row = element("div", "");
        row.append(element("span", line.name, line.name && "key " + line.group.className.baseVal),
          element("span", withUnit(value, this.unit)));
        return row;
      }));
      const card = this.tip.parentNode.getBoundingClientRect();
      const box = this.svg.getBoundingClientRect(), scale = box.width / WIDTH;
      const left = box.left - card.left + x * scale, width = this.tip.offsetWidth;
      this.tip.style.left = left + (left + width > card.width - 20 ? -12 - width : 12) + "px";
      this.tip.style.top = box.top - card.top + y * scale + 6 + "px";
    }

    hide() {
      this.at = undefined;
      [this.cursor, this.tip, this.chosen].forEach((part) => { part.style.display = "none"; });
    }

    /* Moves to the next visible level or dot. */
    step(direction) {
      const [low, high] = this.view;
      const places = this.lines.filter((line) => !line.isHidden).flatMap((line) => line.levels)
        .map(([from, to]) => (Math.max(from, low) + Math.min(to, high)) / 2)
        .filter((at) => at >= low && at <= high).sort((a, b) => (a - b) * direction);
      this.select(places.find((at) => !((at - this.at) * direction <= 1e-9)) ?? this.at, true);
    }

    /* Shows a part of the time, with new ticks; the labels of the marks move along. */
    show(view) {
      const low = Math.max(this.whole[0], view[0]), high = Math.min(this.whole[1], view[1]);
      if (high - low < (this.whole[1] - this.whole[0]) / 1e4) {
        return;
      }
      this.hide();
      this.view = [low, high];
      this.plot.setAttribute("viewBox", [low, this.up[0], high - low, this.up[1]].join(" "));
      const rough = (high - low) / 5, {x, y, width, height} = this.frame;
      const power = 10 ** Math.floor(Math.log10(rough)), lead = rough / power;
      const step = this.whole[1] < 300 || rough < 8
        ? power * (lead < 1.5 ? 1 : lead < 3 ? 2 : lead < 7 ? 5 : 10)
        : CLOCK_STEPS.find((entry) => rough <= entry * 1.2) || Math.ceil(rough / 86400) * 86400;
      const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
      this.xAxis.replaceChildren();
      for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6; i++) {
        const at = this.toX(i * step);
        this.draw(this.xAxis, "path", {d: `M${at} ${y}V${y + height}`});
        this.draw(this.xAxis, "text", {x: at, y: y + height + 17}, this.clock(i * step, decimals));
      }
      this.svg.querySelectorAll("text.mark").forEach((mark) => {
        const at = this.toX(Number(mark.dataset.at));
        mark.setAttribute("x", at);
        mark.style.display = at < x || at > x + width ? "none" : "";
      });
    }

    /* Takes over the choices that the reader made in the chart `old`, which this chart replaces. */
    follow(old, hasFocus) {
      const hidden = old.lines.filter((line) => line.isHidden).map((line) => line.name);
      this.lines.filter((line) => hidden.includes(line.name)).forEach((line) => line.button.click());
      if (old.view.join() !== old.whole.join()) {
        this.show(old.view);
      }
      if (old.at !== undefined) {
        this.select(old.at, false);
      }
      if (hasFocus) {
        this.svg.focus({preventScroll: true});
      }
    }

    listen() {
      const on = (name, react) => this.svg.addEventListener(name, react);
      const all = () => this.showAll([-Infinity, Infinity]);
      const zoom = (factor) => {
        const middle = this.at ?? (this.view[0] + this.view[1]) / 2;
        this.showAll(this.view.map((end) => middle + (end - middle) * factor));
      };
      const keys = {ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1),
        "+": () => zoom(0.5), "-": () => zoom(2), 0: all, Escape: all};
      let start;
      on("pointerdown", (event) => {
        if (event.button === 0) {
          start = this.fromPointer(event);
          this.svg.setPointerCapture(event.pointerId);
        }
      });
      on("pointermove", (event) => {
        const at = this.fromPointer(event);
        this.select(at, false);
        if (start !== undefined) {
          const [from, to] = [start, at].map((end) => this.toX(end)).sort((a, b) => a - b);
          this.chosen.setAttribute("x", from);
          this.chosen.setAttribute("width", to - from);
          this.chosen.style.display = "";
        }
      });
      on("pointerup", (event) => {
        const at = this.fromPointer(event);
        if (start !== undefined && Math.abs(this.toX(at) - this.toX(start)) > 6) {
          this.showAll([Math.min(start, at), Math.max(start, at)]);
        }
        start = undefined;
      });
      on("pointercancel", () => { start = undefined; });
      on("pointerleave", () => this.hide());
      on("focus", () => this.at === undefined && this.step(1));
      on("blur", () => this.hide());
      on("keydown", (event) => {
        if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
          keys[event.key]();
          event.preventDefault();
        }
      });
      this.svg.setAttribute("tabindex", "0");
      this.svg.setAttribute("role", "application");
    }
  }

  const charts = new WeakMap(); // the Chart of each figure

  function showAll(group, view) {
    const timed = [...group.querySelectorAll("figure")].map((one) => charts.get(one))
      .filter((one) => one && one.across === "time");
    timed.forEach((chart) => chart.show(view));
    group.previousElementSibling.querySelector("button").disabled =
      timed.every((chart) => chart.view.join() === chart.whole.join());
  }

  /* Makes a Chart for each figure that has no Chart yet. */
  function start() {
    document.querySelectorAll(".charts").forEach((group) => {
      const hint = group.previousElementSibling;
      [...group.querySelectorAll("figure")]
        .filter((one) => one.querySelector(".plot") && !charts.has(one))
        .forEach((one) => charts.set(one, new Chart(one, (view) => showAll(group, view))));
      if (hint.hidden) {
        hint.hidden = false;
        hint.querySelector("button")
          .addEventListener("click", () => showAll(group, [-Infinity, Infinity]));
      }
    });
  }

  start();
  document.addEventListener("renewed", (event) => { // on a live page
    start();
    event.detail.forEach(([old, made, hasFocus]) => {
      const chart = charts.get(made), before = charts.get(old);
      if (chart && before) {
        chart.follow(before, hasFocus);
      }
    });
  });
})();
