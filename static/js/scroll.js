// Keeps the end of the conversation in view while a person reads there, and leaves them alone when they read above.
// scrolling, growth -> position. Touches: #scroll, #latest.

const NEAR = 80; // px from the end that still count as the end

export function setUpScroll() {
  const view = document.getElementById("scroll");
  const button = document.getElementById("latest");
  let follows = true;

  const atEnd = () => view.scrollHeight - view.scrollTop - view.clientHeight < NEAR;
  const toEnd = () => {
    follows = true;
    view.scrollTop = view.scrollHeight;
    button.hidden = true;
  };

  view.addEventListener("scroll", () => {
    follows = atEnd();
    if (follows) button.hidden = true;
  });
  button.addEventListener("click", toEnd);
  const grown = new ResizeObserver(() => {
    if (follows) view.scrollTop = view.scrollHeight;
    else button.hidden = atEnd();
  });
  grown.observe(view.firstElementChild);
  grown.observe(view);
  toEnd();
  return { toEnd };
}
