// The theme button goes round: as the system, light, dark. The choice is applied before the first paint by theme-first.js.
const button = document.querySelector('button.theme');
const faces = {
  '': ['As the system', 'M4 5h16v11H4zM9 20h6'],
  light: ['Light', 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2'],
  dark: ['Dark', 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z'],
};
const paint = () => {
  const [name, path] = faces[document.documentElement.dataset.theme || ''];
  button.innerHTML = `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"/></svg>`;
  button.title = `Colours: ${name.toLowerCase()}`;
  button.setAttribute('aria-label', `Colours: ${name.toLowerCase()}. Change`);
};
button.addEventListener('click', () => {
  const order = Object.keys(faces);
  const next = order[(order.indexOf(document.documentElement.dataset.theme || '') + 1) % order.length];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  try { localStorage.setItem('theme', next); } catch { /* private mode: the choice lasts for this page */ }
  paint();
});
paint();
button.hidden = false;
