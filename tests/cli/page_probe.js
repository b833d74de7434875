/* Uses the charts of a page as a person would, and writes what they said into <pre id="probe">. */
"use strict";
const seen = {errors: [], charts: [], views: []};
window.onerror = (message, file, line) => { seen.errors.push(`${message}, line ${line}`); };
SVGElement.prototype.setPointerCapture = () => {};
try {
  const figures = [...document.querySelectorAll("figure")].filter((one) =>
    one.querySelector(".plot"));
  const point = (svg, type, across) => {
    const box = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent(type, {clientX: box.left + box.width * across,
      clientY: box.top + 9, button: 0, pointerId: 1, bubbles: true}));
  };
  figures.forEach((figure) => {
    const svg = figure.querySelector("svg"), chart = {};
    const press = (key) => svg.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    const tip = () => [...figure.querySelectorAll(".tip > *")].map((row) =>
      [...row.childNodes].map((part) => part.textContent).join(" ").trim()).join(" | ");
    const ticks = () => [...svg.querySelectorAll(".x text")].map((one) => one.textContent).join();
    /* the browser sends this event only if it has focused the window already */
    svg.dispatchEvent(new FocusEvent("focus"));
    chart.first = tip();
    press("ArrowRight");
    chart.next = tip();
    press("ArrowLeft");
    chart.back = tip();
    const key = figure.querySelector("button.key");
    if (key) {
      key.click();
      point(svg, "pointerleave", 0);
      press("ArrowRight");
      chart.off = tip();
      key.click();
    }
    chart.ticks = ticks();
    press("+");
    chart.zoomed = ticks();
    press("0");
    chart.all = ticks();
    seen.charts.push(chart);
  });
  const svg = figures[0].querySelector("svg");
  point(svg, "pointerdown", .4);
  point(svg, "pointermove", .5);
  point(svg, "pointerup", .6);
  seen.views = [0, 1].map((i) => figures[i].querySelector(".plot").getAttribute("viewBox")
    .split(" ").filter((part, place) => place % 2 === 0));
} catch (error) {
  seen.errors.push(error.stack);
}
document.body.append(Object.assign(document.createElement("pre"),
  {id: "probe", textContent: JSON.stringify(seen)}));
