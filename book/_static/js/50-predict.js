/* Predict, then reveal. The page works without this script: answers are plain <details> that open. With it the reader
   commits to an answer first, and the answer is remembered on this machine.

   A choice. Every option is a <details>; its summary is the option and its body says what choosing it means.
   The right one carries data-right. Leave an empty line after each tag, so that the Markdown between them is read.

     <div class="predict" data-id="ch03-p1">

     Which row of weights do you expect?

     <details><summary>0.60, 0.30, 0.10</summary>

     That would be …

     </details>
     <details data-right><summary>0.80, 0.15, 0.05</summary>

     Right, because …

     </details>
     </div>

   A number, or a row of numbers. data-answer holds it, data-within how near is near enough (default 0.01). An element
   with data-if="0.5 0.5" is marked for the reader who predicted just that; all others see it too, so let it say "if".

     <details class="predict" data-id="ch03-p2" data-answer="0.80 0.15 0.05" data-within="0.01">
     <summary>Predict the three weights of "it", then compare</summary>

     …

     <p data-if="0.33 0.33 0.33">If you spread it evenly: …</p>

     </details>

   data-id is unique in the book. */
const { make } = notes;

// --- choices
for (const group of document.querySelectorAll('div.predict')) {
  const options = [...group.querySelectorAll(':scope > details')];
  const key = `predict:${group.dataset.id}`;
  const verdict = make('p', { className: 'predict-verdict' });
  verdict.setAttribute('role', 'status');
  const again = make('button', { type: 'button', className: 'button quiet', hidden: true }, 'Forget my answer');
  group.append(make('div', { className: 'predict-foot' }, verdict, again));

  const judge = chosen => {
    const right = 'right' in options[chosen].dataset;
    options.forEach((option, i) => {
      option.classList.toggle('chosen', i === chosen);
      option.classList.toggle('right', 'right' in option.dataset);
    });
    verdict.textContent = right ? 'You chose the right answer.' : 'You chose another answer: read what it would mean, then the marked one.';
    group.classList.add('judged');
    again.hidden = false;
  };
  const rest = () => {
    options.forEach(option => { option.open = false; option.classList.remove('chosen', 'right'); });
    group.classList.remove('judged');
    verdict.textContent = 'Choose one: what you open first counts as your answer.';
    again.hidden = true;
  };

  rest();
  const stored = notes.get(key);
  if (stored !== null && options[stored]) {
    options[stored].open = true;
    judge(+stored);
  }
  options.forEach((option, i) => option.addEventListener('toggle', () => {
    if (!option.open || group.classList.contains('judged')) return;
    notes.set(key, i);
    judge(i);
  }));
  again.addEventListener('click', () => { notes.drop(key); rest(); options[0].querySelector('summary').focus(); });
}

// --- numbers
// The minus sign of formulas counts as the one on the keyboard.
const numbers = text => (text.replaceAll('−', '-').match(/-?(?:\d+\.?\d*|\.\d+)(?:\s*\/\s*\d+|\s*%)?/g) ?? []).map(word => {
  const [top, bottom] = word.split('/').map(parseFloat);
  return word.includes('%') ? top / 100 : bottom ? top / bottom : top;
});
const near = (a, b, within) => a.length === b.length && a.every((x, i) => Math.abs(x - b[i]) <= within + 1e-9);

for (const box of document.querySelectorAll('details.predict')) {
  const key = `predict:${box.dataset.id}`;
  const answer = numbers(box.dataset.answer);
  const within = +(box.dataset.within ?? 0.01);
  const name = `predict-${box.dataset.id}`;
  const input = make('input', { type: 'text', id: name, autocomplete: 'off', required: true });
  const verdict = make('p', { className: 'predict-verdict' });
  verdict.setAttribute('role', 'status');
  const summary = box.querySelector('summary');
  const question = make('label', { htmlFor: name }, ...summary.childNodes);
  input.placeholder = answer.length > 1 ? `${answer.length} numbers` : 'a number';
  summary.textContent = 'Show the answer';
  const form = make('form', { className: 'predict-form' },
    question, input, make('button', { type: 'submit' }, 'Commit'), verdict);
  box.before(form);

  const judge = (text, open) => {
    const given = numbers(text);
    if (given.length !== answer.length) {
      verdict.textContent = `That is ${given.length} number${given.length === 1 ? '' : 's'}; the question asks for ${answer.length}.`;
      return false;
    }
    const right = near(given, answer, within);
    const sum = given.reduce((a, b) => a + b, 0);
    const wanted = answer.reduce((a, b) => a + b, 0);
    const oddSum = answer.length > 1 && Math.abs(wanted - 1) < 0.01 && Math.abs(sum - 1) > 0.02;
    verdict.textContent = right ? `Right: you predicted ${text}.`
      : `You predicted ${text}; it is ${box.dataset.answer}.${oddSum ? ` Yours add up to ${+sum.toFixed(3)}, and the weights of one query add up to 1.` : ''}`;
    form.classList.toggle('right', right);
    box.querySelectorAll('[data-if]').forEach(e => e.classList.toggle('for-you', !right && near(given, numbers(e.dataset.if), within)));
    if (open) box.open = true;
    return true;
  };

  const stored = notes.get(key);
  if (stored !== null) {
    input.value = stored;
    judge(stored, true);
  }
  form.addEventListener('submit', e => {
    e.preventDefault();
    const text = input.value.trim();
    if (judge(text, true)) notes.set(key, text);
  });
}
