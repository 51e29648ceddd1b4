// One JSON request a line on stdin, {tex, display}; one JSON answer a line on stdout, {html} or {error}.
const katex = require('katex');
require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const { tex, display } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(tex, { displayMode: display, output: 'htmlAndMathml', strict: 'error' }) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
});
