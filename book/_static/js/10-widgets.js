// Widgets: the build turned saved ipywidgets state into native controls and stacks of frames (_ext/website/widgets.py).
// Here a change follows the links from control to control and from control to stack, as jslink does in a notebook.
for (const widget of document.querySelectorAll('.au-widget')) {
  const links = JSON.parse(widget.dataset.links);
  const said = widget.querySelector('.au-said');

  // Show value `v` of one attribute of one element.
  const show = (id, attribute, v) => {
    const element = document.getElementById(id);
    if (element.matches('.au-stack')) {
      [...element.children].forEach((frame, k) => { frame.inert = k !== +v; });
    } else if (element.type === 'range') {
      element.value = v;
      const text = element.dataset.options ? JSON.parse(element.dataset.options)[v] : element.value;
      element.setAttribute('aria-valuetext', text);
      element.nextElementSibling.textContent = text;
    } else if (element.type === 'checkbox') element.checked = v;
    else if (element.matches('select')) element.selectedIndex = v;
    else if (element.matches('fieldset')) element.querySelectorAll('input')[v].checked = true;
    else if (element.matches('.au-html')) element.innerHTML = v;
    else element.textContent = v;
  };

  const follow = (id, attribute, v, seen = new Set()) => {
    if (seen.has(id + attribute)) return;
    seen.add(id + attribute);
    show(id, attribute, v);
    for (const [from, fromAttribute, to, toAttribute, both] of links) {
      if (from === id && fromAttribute === attribute) follow(to, toAttribute, v, seen);
      if (both && to === id && toAttribute === attribute) follow(from, fromAttribute, v, seen);
    }
  };

  // What a screen reader hears after a change: a sentence of the visible frame, never a whole table.
  const speak = () => {
    const visible = [...widget.querySelectorAll('[data-say], caption')].filter(e => !e.closest('[inert]'));
    said.textContent = visible.map(e => e.dataset.say || e.textContent.trim()).join(' ');
  };

  widget.addEventListener('input', ({ target }) => {
    const group = target.closest('fieldset');
    if (group) follow(group.id, 'index', +target.value);
    else if (target.matches('select')) follow(target.id, 'index', target.selectedIndex);
    else if (target.type === 'checkbox') follow(target.id, 'value', target.checked);
    else follow(target.id, target.dataset.options ? 'index' : 'value', +target.value);
    speak();
  });
}
