"use strict";
// The page is complete without this: here its table sorts, filters and copies, its charts answer.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const byId = (id) => document.getElementById(id);

  // ---- the table of all rows ----
  const table = byId("table");
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const unit = headings.findIndex((cell) => cell.dataset.name === "unit");
  const value = (cell, column) => {
    if (column === unit) return cell.firstElementChild.textContent;
    return cell.dataset.value ?? cell.textContent;
  };
  const rows = [...body.rows].map((row, index) => {
    const values = [...row.cells].map(value);
    return { row, index, values, text: row.textContent.toLowerCase(), shown: true };
  });
  const collator = new Intl.Collator("en", { numeric: true });

  const sort = (column) => {
    const heading = headings[column];
    const up = heading.getAttribute("aria-sort") !== "ascending";
    headings.forEach((cell) => cell.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const isNumber = heading.classList.contains("number");
    const keys = rows.map(({ values }) => {
      if (!isNumber) return values[column];
      return values[column] === "" ? NaN : Number(values[column].replaceAll(",", ""));
    });
    const compare = (a, b) => {
      const [x, y] = [keys[a], keys[b]];
      const empty = isNumber ? isNaN(x) - isNaN(y) : (x === "") - (y === "");
      if (empty) return empty; // last, whichever way
      const order = isNumber ? (isNaN(x) ? 0 : x - y) : collator.compare(x, y);
      return (up ? order : -order) || a - b;
    };
    const order = rows.map((_, i) => i).sort(compare);
    const sorted = order.map((i) => rows[i]);
    rows.splice(0, rows.length, ...sorted);
    body.append(...rows.map(({ row }) => row));
  };
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(column));
    heading.append(button);
  });

  const filter = byId("filter");
  const count = byId("count");
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const entry of rows) {
      entry.shown = words.every((word) => entry.text.includes(word));
      entry.row.hidden = !entry.shown;
    }
    const shown = rows.filter((entry) => entry.shown).length;
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows`;
  };
  filter.addEventListener("input", apply);

  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = () => {
    const lines = [headings.map((heading) => heading.dataset.name)];
    lines.push(...rows.filter((entry) => entry.shown).map((entry) => entry.values));
    return lines.map((line) => line.map(quote).join(",") + "\n").join("");
  };
  const copyOld = (text) => {
    // where a page on disk may not use the clipboard's own interface
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  byId("copy").addEventListener("click", async (event) => {
    const text = csv();
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = copyOld(text);
    }
    byId("status").textContent = done ? "Copied" : "Could not copy";
    event.target.textContent = done ? "Copied" : "Could not copy";
    setTimeout(() => (event.target.textContent = "Copy as CSV"), 1500);
  });

  // ---- links ----
  const follow = () => {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.hidden) {
      filter.value = "";
      apply();
    }
    const details = target.closest("details");
    if (details) details.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  if (location.hash) follow();
  addEventListener("beforeprint", () => {
    document.querySelectorAll(".unit").forEach((unit) => (unit.open = true));
  });

  // ---- the charts ----
  const views = new Map();
  const hide = (figure) => {
    const boxes = [...figure.querySelectorAll(".legend input")];
    return boxes.filter((box) => !box.checked).map((box) => box.value);
  };
  const draw = async (drawing) => {
    const canvas = drawing.querySelector(".canvas");
    const specification = JSON.parse(drawing.querySelector("script").textContent);
    const holder = document.createElement("div");
    const { view } = await vegaEmbed(holder, specification, {
      actions: false,
      ast: true, // no code is made of text, as the policy of this page demands
      renderer: "svg",
      tooltip: { theme: "custom" },
    });
    await view.signal("hidden", hide(drawing.closest("figure"))).runAsync();
    canvas.replaceChildren(holder);
    views.set(drawing, view);
  };
  document.querySelectorAll(".legend").forEach((legend) => {
    legend.addEventListener("change", () => {
      const figure = legend.closest("figure");
      figure.querySelectorAll(".drawing").forEach((drawing) => {
        views.get(drawing)?.signal("hidden", hide(figure)).runAsync();
      });
    });
  });
  addEventListener("load", () => {
    if (!window.vegaEmbed) return;
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          observer.unobserve(target);
          draw(target);
        }
      },
      { rootMargin: "400px" },
    );
    document.querySelectorAll(".drawing").forEach((drawing) => observer.observe(drawing));
  });
})();
