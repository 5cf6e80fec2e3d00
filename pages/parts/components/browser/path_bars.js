// Bars as a component of their own: see bars.js, which stands before this in one module.

const views = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".bars");
  if (!views.has(root)) views.set(root, new Map());
  showBars(root, views.get(root), data, (gram) => setTriggerValue("click", { gram }));
}
