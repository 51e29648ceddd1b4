// Attention maps: pointing at row i, or walking to it with the arrow keys, reads it out as a sentence. The query is
// named, and each key is shaded by its weight. The table itself stays what it is.
const { make } = notes;
for (const reading of document.querySelectorAll('.au-reading')) {
  const table = reading.parentElement.querySelector('.au-map');
  const keys = [...table.querySelectorAll('thead th')].map(th => th.textContent);
  const rows = [...table.querySelectorAll('tbody tr')];
  const self = keys.join('\n') === rows.map(r => r.cells[0].textContent).join('\n');
  let current;

  const read = row => {
    if (row === current) return;
    current?.classList.remove('on');
    (current = row).classList.add('on');
    const query = row.cells[0].textContent;
    const weights = [...row.cells].slice(1).map(td => +td.style.getPropertyValue('--w'));
    const sentence = keys.map((key, j) => {
      const word = make('span', { className: 'au-key' }, key);
      word.style.setProperty('--w', weights[j]);
      if (self && j === rows.indexOf(row)) word.classList.add('au-query');
      return word;
    });
    const order = keys.map((_, j) => j).sort((a, b) => weights[b] - weights[a]).filter(j => weights[j] > 0).slice(0, 3);
    const most = order.map(j => `${keys[j]} ${row.cells[j + 1].textContent}`).join(', ');
    reading.replaceChildren(make('strong', {}, query), most ? ` reads mostly ${most}.` : ' may read nothing.', make('br'),
      ...sentence.flatMap(word => [word, ' ']));
  };

  // One tab stop for the whole table; the arrow keys move between rows.
  const heads = rows.map(row => row.cells[0]);
  heads.forEach((head, i) => {
    head.tabIndex = i ? -1 : 0;
    head.addEventListener('keydown', e => {
      const next = heads[i + { ArrowDown: 1, ArrowUp: -1 }[e.key]];
      if (!next) return;
      e.preventDefault();
      head.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  });
  for (const event of ['pointerover', 'focusin']) {
    table.tBodies[0].addEventListener(event, e => read(e.target.closest('tr')));
  }
}
