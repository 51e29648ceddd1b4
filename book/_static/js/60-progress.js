// Which chapters have been read: kept on this machine, shown in the contents, cleared on request.
const page = document.documentElement.dataset.page;
const contents = document.getElementById('contents');
const mark = document.querySelector('.progress');
const { make } = notes;

const clear = make('button', { type: 'button', className: 'button quiet clear' }, 'Clear my progress and answers');
contents?.append(clear);

const root = new URL(document.documentElement.dataset.root || './', location.href).pathname;
const paint = () => {
  for (const a of contents?.querySelectorAll('a') ?? []) {
    const name = decodeURIComponent(a.pathname.slice(root.length).replace(/\.html$/, ''));
    const done = notes.get(`read:${name}`) !== null;
    a.parentElement.classList.toggle('done', done);
    if (done) a.setAttribute('aria-description', 'read'); else a.removeAttribute('aria-description');
  }
  if (mark) {
    mark.hidden = false;
    mark.setAttribute('aria-pressed', notes.get(`read:${page}`) !== null);
  }
  clear.hidden = !notes.keys().length;
};
mark?.addEventListener('click', () => {
  if (notes.get(`read:${page}`) === null) notes.set(`read:${page}`, '1'); else notes.drop(`read:${page}`);
  paint();
});
clear.addEventListener('click', () => {
  notes.keys().forEach(key => notes.drop(key));
  location.reload();
});
paint();
