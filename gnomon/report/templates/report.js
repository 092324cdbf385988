(async () => {
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const themeButton = document.getElementById("theme");
  const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const nameTheme = () => { themeButton.textContent = theme() === "dark" ? "Light" : "Dark"; };
  themeButton.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    nameTheme();
    try { localStorage.setItem("gnomon-theme", root.dataset.theme); } catch (blocked) { /* it lasts until reload */ }
  });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  // The table of every length belongs in the paper copy; the long one by position does not.
  let opened = [];
  addEventListener("beforeprint", () => { opened = all("details[data-print]:not([open])"); opened.forEach(d => { d.open = true; }); });
  addEventListener("afterprint", () => opened.forEach(d => { d.open = false; }));

  for (const button of all("th button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th"), body = head.closest("table").tBodies[0];
      const down = head.getAttribute("aria-sort") === "ascending";
      all("th[aria-sort]", head.parentElement).forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = row => row.cells[head.cellIndex].dataset.sort;
      const order = (a, b) => {
        if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === "");
        const numbers = Number(value(a)) - Number(value(b));
        return (Number.isNaN(numbers) ? value(a).localeCompare(value(b)) : numbers) * (down ? -1 : 1);
      };
      body.append(...[...body.rows].sort(order));
    });
  }

  const specs = JSON.parse(document.getElementById("specs").textContent);
  const views = [];
  const options = {
    mode: "vega-lite", ast: true, renderer: "svg", actions: false, defaultStyle: false,
    tooltip: { disableDefaultStyle: true, theme: "report" },
    logLevel: 1, // errors; Vega warns of every figure that has nothing left to show
  };
  const draw = async box => {
    const { view } = await vegaEmbed(box, specs[box.dataset.figure], options);
    box.dataset.live = "";
    return view;
  };
  // A figure that is folded away has no width yet: it is drawn when it is unfolded.
  const drawAll = async boxes => {
    for (const box of boxes) {
      try { views.push(await draw(box)); } catch (error) { console.error(box.dataset.figure, error); }
    }
  };
  const folded = box => box.closest("details:not([open])");
  for (const details of all("details").filter(each => each.querySelector("[data-figure]"))) {
    let width = innerWidth;
    details.addEventListener("toggle", async () => {
      if (!details.open) return;
      await drawAll(all("[data-figure]:not([data-live])", details).filter(box => !folded(box)));
      // While it was folded away, its figures did not follow the window.
      if (width !== innerWidth) dispatchEvent(new Event("resize"));
      width = innerWidth;
    });
  }
  await drawAll(all("[data-figure]").filter(box => !folded(box)));

  const set = (name, value) => views.forEach(view => {
    // A figure without the parameter throws; only those that compare series have it.
    try { view.signal(name, value); } catch (absent) { return; }
    view.runAsync();
  });
  const legend = all("[data-label]");
  const show = pressed => {
    legend.forEach(button => button.setAttribute("aria-pressed", pressed(button)));
    set("shown", legend.filter(pressed).map(button => button.dataset.label));
  };
  const on = button => button.getAttribute("aria-pressed") === "true";
  for (const button of legend) {
    button.addEventListener("click", event => {
      if (event.shiftKey) show(other => other === button);
      else { const now = !on(button); show(other => other === button ? now : on(other)); }
    });
    button.addEventListener("dblclick", () => show(other => other === button));
  }
  for (const button of all("[data-show]"))
    button.addEventListener("click", () => show(other => button.dataset.show === "all" || "holds" in other.dataset));
  for (const input of all(".choice input"))
    input.addEventListener("change", () => set(input.name, input.value));

  root.dataset.ready = views.length;
})();
