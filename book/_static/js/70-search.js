// Search: every word of the query must occur in a section, as a substring, so that 多头 finds 多头注意力.
// `searchIndex` comes from search-index.js: {page: [[anchor, heading, text], …]}; the first section is the page.
const results = document.getElementById('search-results');
const { make } = notes;

const fold = text => text.normalize('NFKC').toLowerCase();

const score = (words, title, heading, text) => {
  let sum = 0;
  for (const word of words) {
    const inHeading = heading.includes(word), inTitle = title.includes(word);
    const count = text.split(word).length - 1;
    if (!inHeading && !count) return 0;
    // A whole word counts for more than a part of one; Chinese has no such boundary.
    const whole = new RegExp(`(?<![\\p{L}\\p{N}])${word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\p{L}\\p{N}])`, 'u');
    sum += 8 * inHeading + 3 * inTitle + Math.min(count, 5) + 4 * whole.test(heading) + 2 * whole.test(text);
  }
  return sum;
};

const highlight = (text, words) => {
  const pattern = new RegExp(words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'giu');
  const parts = [];
  let last = 0;
  for (const hit of text.matchAll(pattern)) {
    parts.push(text.slice(last, hit.index), make('mark', {}, hit[0]));
    last = hit.index + hit[0].length;
  }
  return [...parts, text.slice(last)];
};

const excerpt = (text, words) => {
  const first = Math.min(...words.map(w => fold(text).indexOf(w)).filter(i => i >= 0), text.length);
  const start = first > 90 ? text.indexOf(' ', first - 80) + 1 : 0;
  const end = Math.min(text.length, start + 220);
  return `${start ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`;
};

const find = query => {
  const words = fold(query).split(/\s+/).filter(Boolean);
  if (!words.length) return results.replaceChildren();
  const hits = [];
  for (const [page, sections] of Object.entries(searchIndex)) {
    const title = sections[0][1];
    sections.forEach(([anchor, heading, text], i) => {
      const value = score(words, fold(title), fold(heading), fold(text));
      if (value) hits.push({ value, title, heading, text, href: `${page}.html${i ? `#${anchor}` : ''}` });
    });
  }
  hits.sort((a, b) => b.value - a.value);
  const list = make('ul', { className: 'search' }, ...hits.slice(0, 40).map(hit => make('li', {},
    make('a', { href: hit.href }, ...highlight(hit.heading, words)),
    hit.heading === hit.title ? '' : make('span', { className: 'where' }, hit.title),
    make('p', {}, ...highlight(excerpt(hit.text, words), words)))));
  const count = hits.length === 1 ? '1 place' : `${hits.length} places`;
  results.replaceChildren(make('p', { className: 'count' }, hits.length ? `${count} for “${query}”` : `Nothing found for “${query}”.`), list);
};

if (results) {
  const input = document.querySelector('.search-page input');
  input.value = new URLSearchParams(location.search).get('q') ?? '';
  document.querySelector('.find input').value = '';
  input.addEventListener('input', () => find(input.value));
  find(input.value);
}
