(root => { try { const t = localStorage.getItem('theme'); if (t) root.dataset.theme = t; } catch {} })(document.documentElement);
