/* The live page: asks for the report's page as it is now, and replaces the parts that have changed. */
"use strict";
(() => {
  const INNER = "section, details, .charts, .cards, .tables"; // only their changed parts are replaced
  const AGAIN_MS = 1000; // after a failed request
  const SAVED_MS = 60000; // after this time the browser has written the file
  const main = document.querySelector("main"), token = location.hash.slice(1);
  const lost = Object.assign(document.createElement("p"), {className: "verdict invalid", hidden: true});
  const saver = document.querySelector("button[name=save]");
  let seq = 0, pieces = [], shown = parse("");
  main.before(lost);

  function parse(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  }

  /* Makes the pieces of the next state: see live.c. */
  function follow(steps) {
    const made = [];
    let at = 0;
    steps.forEach((step) => {
      if (typeof step === "string") {
        made.push(step);
      } else if (Array.isArray(step)) {
        made.push(pieces[at].slice(0, step[0]) + step[1]);
        at += 1;
      } else {
        made.push(...(step > 0 ? pieces.slice(at, at + step) : []));
        at += Math.abs(step);
      }
    });
    return made;
  }

  /* Replaces the children of `live` that differ between `before` and `after`. `live` itself cannot be
     compared, because the page's script has changed it. */
  function renew(live, before, after, replaced) {
    const old = [...live.children], was = [...before.children];
    [...after.children].forEach((next, i) => {
      if (was[i] === undefined) {
        live.append(next.cloneNode(true));
      } else if (next.matches(INNER) && was[i].matches(INNER)) {
        renew(old[i], was[i], next, replaced);
      } else if (!was[i].isEqualNode(next)) {
        const made = next.cloneNode(true), hasFocus = old[i].contains(document.activeElement);
        old[i].replaceWith(made);
        replaced.push([old[i], made, hasFocus]);
      }
    });
    old.slice(after.children.length).forEach((one) => one.remove());
  }

  function draw() {
    if (main.querySelector(".charts svg:active")) {
      setTimeout(draw, 200); // the reader drags over a chart
      return;
    }
    const next = parse(pieces.join("")), replaced = [];
    renew(main, shown, next, replaced);
    shown = next;
    document.dispatchEvent(new CustomEvent("renewed", {detail: replaced}));
  }

  function take(state) {
    if (state.steps && state.from !== seq) {
      seq = 0; // ask for the whole body
      return;
    }
    seq = state.seq;
    if (state.body === undefined && state.steps === undefined) {
      return;
    }
    pieces = state.steps ? follow(state.steps) : state.body.split(/(?=<)/);
    saver.disabled = false;
    document.title = "append: " + parse(state.title).textContent;
    setTimeout(draw, 0); // after the next request has been sent
  }

  /* Returns the page as it is now, as append report writes it: without this script and its buttons. */
  function file() {
    const root = document.documentElement.cloneNode(false).outerHTML.replace("</html>", "");
    const head = document.head.outerHTML.replace('<meta name="policy"',
      '<meta http-equiv="Content-Security-Policy"');
    return `<!DOCTYPE html>\n${root}\n${head}\n<body>\n<main>\n${pieces.join("")}</main>\n` +
      `${document.scripts[0].outerHTML}\n</body>\n</html>\n`;
  }

  function save() {
    const url = URL.createObjectURL(new Blob([file()], {type: "text/html"}));
    Object.assign(document.createElement("a"), {download: "report.html", href: url}).click();
    setTimeout(() => URL.revokeObjectURL(url), SAVED_MS);
  }

  function say(text) {
    lost.textContent = text;
    lost.hidden = text === "";
  }

  async function ask() {
    try {
      const answer = await fetch("live.json?after=" + seq, {headers: {"X-Append-Token": token}});
      if (!answer.ok) {
        say(await answer.text());
        return;
      }
      const state = await answer.json();
      say("");
      take(state);
      document.body.dataset.state = state.state;
      if (state.state !== "ended") {
        ask();
      }
    } catch {
      say("append does not answer: the run has ended, or the connection is lost. After the end of the " +
        "run, append report makes this page from the run's files.");
      setTimeout(ask, AGAIN_MS);
    }
  }

  /* Sends a change of the run, and shows what append said. */
  async function change(name, value, status) {
    try {
      const answer = await fetch("control", {method: "POST", body: JSON.stringify({[name]: value}),
        headers: {"X-Append-Token": token, "Content-Type": "application/json"}});
      const text = await answer.text();
      status.textContent = text.startsWith("{") ? Object.values(JSON.parse(text))[0] : text;
    } catch {
      status.textContent = "append does not answer";
    }
  }

  saver.addEventListener("click", save);
  document.querySelectorAll(".card.control button").forEach((button) => {
    const panel = button.parentNode, input = panel.querySelector(`input[name=${button.name}]`);
    button.addEventListener("click", () =>
      change(button.name, input ? input.value : true, panel.querySelector("p")));
  });
  ask();
})();
