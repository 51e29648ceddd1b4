// Small comforts of a page.
const { make } = notes;

// "On this page" shows where the reader is.
const links = new Map([...document.querySelectorAll('.onpage a[href^="#"]')].map(a => [decodeURIComponent(a.hash.slice(1)), a]));
if (links.size) {
  const headings = [...document.querySelectorAll('main section[id]')].filter(s => links.has(s.id));
  const watch = new IntersectionObserver(() => {
    const above = headings.filter(s => s.getBoundingClientRect().top < innerHeight * 0.3);
    const here = (above.at(-1) ?? headings[0])?.id;
    for (const [id, a] of links) {
      a.classList.toggle('here', id === here);
      if (id === here) a.setAttribute('aria-current', 'location'); else a.removeAttribute('aria-current');
    }
  }, { rootMargin: '0px 0px -70% 0px' });
  headings.forEach(s => watch.observe(s));
}

// The contents open at the current chapter, and close when a link inside the same page is followed.
const contents = document.getElementById('contents');
contents?.querySelector('.current > a')?.scrollIntoView({ block: 'nearest' });
contents?.addEventListener('click', e => { if (e.target.closest('a')) contents.hidePopover?.(); });

// A button that copies a cell.
if (navigator.clipboard) for (const cell of document.querySelectorAll('.cell_input div.highlight')) {
  const button = make('button', { type: 'button', className: 'plain copy', title: 'Copy', innerHTML: '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M8 8h11v12H8zM5 16V4h11"/></svg>' });
  button.setAttribute('aria-label', 'Copy this cell');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(cell.querySelector('pre').textContent);
    button.title = 'Copied';
    button.classList.add('copied');
    setTimeout(() => { button.title = 'Copy'; button.classList.remove('copied'); }, 1500);
  });
  cell.append(button);
}

// What scrolls sideways can be reached and scrolled by keyboard.
const reach = new ResizeObserver(entries => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
    else target.removeAttribute('tabindex');
  }
});
for (const box of document.querySelectorAll('.scroll, .output.text_html, pre, .au-stack > div, .katex-display')) reach.observe(box);

// Paper shows what is folded.
let opened = [];
addEventListener('beforeprint', () => {
  opened = [...document.querySelectorAll('details:not([open])')];
  opened.forEach(d => { d.open = true; });
});
addEventListener('afterprint', () => opened.forEach(d => { d.open = false; }));
