// The text view as a component: see text_pieces.js, which stands before this in one module.

const views = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = new TextView(parentElement);
    views.set(parentElement, view);
  }
  view.send = (click) => setTriggerValue("click", click);
  view.update(data);
  // Streamlit may run this for an update that was overtaken, too; only a node that left the page is gone.
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected) return;
      clearTimeout(view.filler);
      views.delete(parentElement);
    });
}
