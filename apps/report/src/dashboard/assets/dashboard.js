// Draws charts, writes how long ago times were, selects all keys on a page of a review, sends a form once, and says once what it did.

const charts = new Map();

/** Draws a chart in the current colours of the style sheet. */
function draw(canvas) {
  charts.get(canvas)?.destroy();
  const { labels, series, isHorizontal } = JSON.parse(canvas.dataset.chart);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const ticks = { color: colour('--soft'), maxRotation: 0, autoSkipPadding: 12, precision: 0 };
  const grid = { color: colour('--line') };
  const chart = new Chart(canvas, {
    type: 'bar',
    data: {
      labels,
      datasets: series.map(({ name, values }, index) => ({
        label: name,
        data: values,
        backgroundColor: colour(`--series-${index + 1}`),
        maxBarThickness: 48,
      })),
    },
    options: {
      animation: false,
      maintainAspectRatio: false,
      indexAxis: isHorizontal ? 'y' : 'x',
      scales: { x: { stacked: true, ticks, grid }, y: { stacked: true, beginAtZero: true, ticks, grid } },
      plugins: { legend: { display: series.length > 1, labels: { color: colour('--ink'), boxWidth: 12 } } },
    },
  });
  charts.set(canvas, chart);
}

function drawAll() {
  for (const canvas of document.querySelectorAll('canvas[data-chart]')) draw(canvas);
}

drawAll();
for (const media of ['(prefers-color-scheme: dark)', 'print']) matchMedia(media).addEventListener('change', drawAll);

// A box with a value of data-mark-all selects the keys that have that mark; one without selects all.
for (const all of document.querySelectorAll('[data-mark-all]')) {
  all.addEventListener('change', () => {
    const marked = all.dataset.markAll === '' ? '' : `[data-mark="${all.dataset.markAll}"]`;
    for (const box of all.form.querySelectorAll(`input[name=key]${marked}`)) box.checked = all.checked;
  });
}

// A second click sends nothing while the first one's answer is awaited. A page that the browser has kept can be sent again.
for (const form of document.querySelectorAll('form[method=post]')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.isSent !== undefined) event.preventDefault();
    form.dataset.isSent = '';
  });
  addEventListener('pageshow', () => delete form.dataset.isSent);
}

// What a form has done is said once: not when the page is loaded again, or from its address.
const address = new URL(location.href);
if (address.searchParams.has('flash')) {
  address.searchParams.delete('flash');
  history.replaceState(history.state, '', address);
}

const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Returns a distance in ms in words: minutes, hours, or days. */
function inWords(ms) {
  // Whole units of the past, as in findings; the nearest ones of the future.
  const whole = ms < 0 ? Math.trunc : Math.round;
  const minutes = whole(ms / 60_000);
  if (Math.abs(minutes) < 60) return words.format(minutes, 'minute');
  const hours = whole(ms / 3_600_000);
  return Math.abs(hours) < 48 ? words.format(hours, 'hour') : words.format(whole(ms / 86_400_000), 'day');
}

// The distance is from the report's clock, not from the browser's.
for (const time of document.querySelectorAll('time.ago')) {
  const text = document.createElement('span');
  text.className = 'distance';
  text.textContent = inWords(Date.parse(time.dateTime) - Number(document.body.dataset.now));
  time.append(text);
  time.classList.add('counted');
}
