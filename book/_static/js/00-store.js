// What the reader did here, kept on this machine only. Everything is under one prefix, so that it can be cleared at once.
globalThis.notes = {
  prefix: 'attention-by-hand:',
  get(key) { try { return localStorage.getItem(this.prefix + key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(this.prefix + key, value); } catch { /* private mode: it lasts for this page */ } },
  drop(key) { try { localStorage.removeItem(this.prefix + key); } catch { /* nothing was kept */ } },
  keys() { try { return Object.keys(localStorage).filter(k => k.startsWith(this.prefix)).map(k => k.slice(this.prefix.length)); } catch { return []; } },
  // make('p', {className: 'x'}, 'text', node...) -> element
  make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  },
};
