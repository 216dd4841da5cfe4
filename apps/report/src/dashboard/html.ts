import type { z } from '@hono/zod-openapi';
import type { keyItem, Pause, Suggestion } from '@keywarden/db/report';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

// The parts that pages are built from.

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;
export type Part = Html | string | number | null | Part[];

/** Returns a time to the minute; its `title` keeps the full time. */
export function time(at: string | null): Part {
  if (at === null) return html`<span class="none">never</span>`;
  return html`<time datetime="${toMilliseconds(at)}" title="${at}">${shortTime(at)}</time>`;
}

const shortTime = (at: string) => html`<span class="whole">${at.slice(0, 10)}</span> ${at.slice(11, 16)}`;

/** Returns a time as HTML has it, with three digits of a second at most. */
const toMilliseconds = (at: string) => at.replace(/(?<=\.\d{3})\d+/, '');

/** Returns a time as its distance from now, which a script writes; without scripts and in print it is the time itself. */
export function ago(at: string | null): Part {
  if (at === null) return time(at);
  return html`<time class="ago" datetime="${toMilliseconds(at)}" title="${at}"><span class="exact">${shortTime(at)}</span></time>`;
}

/** Returns a key's last use. What is not known is not shown as never. */
export function lastUse({ use, last_used_at: at }: Pick<z.infer<typeof keyItem>, 'use' | 'last_used_at'>): Part {
  if (use !== 'unknown') return ago(at);
  if (at === null) return html`<span class="none">unknown</span>`;
  return html`<span title="No listing shows whether it was used later">${ago(at)} or later</span>`;
}

/** Returns that a person has paused all revocations, as a notice. */
export function pauseNotice(pause: Pause | null): Part {
  if (pause === null) return '';
  const { pausedAt, pausedBy, reason: why } = pause;
  return html`<p class="notice warn">
    Paused by ${pausedBy} since ${time(pausedAt)}${why === null ? '' : ` (${why})`}: no key is revoked until a person runs keywarden resume.
  </p>`;
}

/** Returns a link. `title` is the id of what `text` names, if it is another text. */
export function link(href: string, text: Part, title?: string): Html {
  return html`<a href="${href}"${title === undefined ? '' : html` title="${title}"`}>${breakable(text)}</a>`;
}

/** Returns a text that wraps at the parts of a name or an address, rather than in the middle of a word. */
function breakable(text: Part): Part {
  if (typeof text !== 'string') return text;
  return text.split(/(?<=_)(?=.)|(?<=.)(?=@|\.\p{L})/u).map((part, at) => (at === 0 ? part : html`<wbr>${part}`));
}

const colors = {
  good: ['active', 'retired', 'adopted', 'finished', 'signed', 'in_force', 'verified', 'closed', 'revoked'],
  warn: ['missing', 'unknown', 'open', 'held'],
  bad: ['overdue', 'not_verified', 'stalled', 'failed', 'orphaned', 'interrupted', 'planned'],
};

const colorOf = (text: string) => Object.entries(colors).find(([, states]) => states.includes(text))?.[0] ?? 'plain';

/** Returns a badge for a state. The color adds no information beyond the word. */
export const state = (text: string): Html =>
  html`<span class="badge ${colorOf(text)}">${text.replaceAll('_', ' ')}</span>`;

export interface Column<T> {
  label: string;
  cell: (item: T) => Part;
  /** The column has numbers, words of a fixed set, sentences, or boxes to select rows, which are not printed; otherwise it has ids, which wrap anywhere. */
  is?: 'number' | 'word' | 'text' | 'mark';
  /** The sort key of the column's header link, if it is sortable. */
  sort?: string;
}

export interface TableOptions<T> {
  caption: string;
  columns: Column<T>[];
  items: T[];
  empty: string;
  head?: (column: Column<T>) => Part;
}

/** Returns a table. On a phone each row is a card, with the label of a column before each value. */
export function table<T>({ caption, columns, items, empty, head = ({ label }) => label }: TableOptions<T>): Html {
  if (items.length === 0) return html`<p class="empty">${empty}</p>`;
  const kind = ({ is }: Column<T>) => (is === undefined ? '' : raw(` class="${is}"`));
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table class="rows">
      <caption class="hidden">${caption}</caption>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col" ${kind(column)}>${head(column)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${items.map(
          (item) => html`<tr>
            ${columns.map((column) => html`<td ${kind(column)} data-label="${column.label}"><div>${breakable(column.cell(item))}</div></td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Returns a table of the first items. It says so if there are more. */
export function firstRows<T>({ items, ...options }: TableOptions<T>, most: number): Html {
  const shown = table({ ...options, items: items.slice(0, most) });
  return items.length > most ? html`${shown}<p class="fine">Only the first ${most} are shown.</p>` : shown;
}

/** Returns a list of names and values for one record. An entry that is false is left out. */
export function facts(entries: ([string, Part] | false)[]): Html {
  return html`<dl class="facts">
    ${entries.filter((entry) => entry !== false).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? html`<span class="none">none</span>`}</dd></div>`)}
  </dl>`;
}

export function section(title: string, body: Part, { more }: { more?: Part } = {}): Html {
  return html`<section>
    <div class="title"><h2>${title}</h2>${more ?? ''}</div>
    ${body}
  </section>`;
}

export interface Chart {
  title: string;
  labels: string[];
  series: { name: string; values: number[] }[];
  /** Horizontal bars, for long labels. */
  isHorizontal?: boolean;
}

/** Returns a bar chart that a script draws, with its numbers as a table for screen readers and browsers without scripts. */
export function chart({ title, labels, series, isHorizontal = false }: Chart): Html {
  const total = series.reduce((sum, { values }) => sum + values.reduce((a, b) => a + b, 0), 0);
  if (total === 0)
    return html`<figure class="chart"><figcaption>${title}</figcaption><p class="empty">Nothing to show yet.</p></figure>`;
  return html`<figure class="chart">
    <figcaption>${title}</figcaption>
    <div class="canvas"><canvas role="img" aria-label="${title}; the numbers are below" data-chart="${JSON.stringify({ labels, series, isHorizontal })}"></canvas></div>
    <details>
      <summary>Numbers</summary>
      ${table({
        caption: title,
        columns: [
          { label: '', cell: (index: number) => labels[index] ?? '' },
          ...series.map(({ name, values }) => ({
            label: name,
            is: 'number' as const,
            cell: (index: number) => (values[index] ?? 0).toLocaleString('en'),
          })),
        ],
        items: labels.map((_label, index) => index),
        empty: '',
      })}
    </details>
  </figure>`;
}

/** Returns a form of one button that ends a record. `what` names it for those who hear the page: "exemption 12". */
export const endButton = (path: string, what: string): Html =>
  html`<form method="post" action="${path}/end"><button class="quiet" type="submit">End<span class="hidden"> ${what}</span></button></form>`;

/** Returns the field of a form for a required reason. */
export const reasonField = (id: string): Html =>
  html`<div class="field"><label for="${id}">Reason</label><input id="${id}" name="reason" required maxlength="1000" /></div>`;

/** Returns a field of a form with a choice. `none` is the text of the empty value, if that can be chosen. */
export function selectField(
  { id, name, label, none, value }: { id: string; name: string; label: string; none?: string; value?: string },
  choices: Suggestion[],
): Html {
  const options = [...(none === undefined ? [] : [{ value: '', name: none }]), ...choices];
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <select id="${id}" name="${name}">
      ${options.map((each) => html`<option value="${each.value}" title="${each.value}" ${each.value === value ? raw('selected') : ''}>${each.name}</option>`)}
    </select>
  </div>`;
}

export interface Field {
  name: string;
  label: string;
  /** The values of a select field; without them the field is a text input. The empty value means all. */
  options?: string[];
  type?: 'text' | 'search';
  placeholder?: string;
  /** Values to choose from in a text input, each with its name. */
  suggestions?: Suggestion[];
}

function suggestList(name: string, suggestions: Suggestion[]): Part {
  if (suggestions.length === 0) return '';
  return html`<datalist id="l-${name}">${suggestions.map((each) => html`<option value="${each.value}">${each.name}</option>`)}</datalist>`;
}

/** Returns the filter form of a list; it requests the same page with the filters. */
export function filterForm(action: string, fields: Field[], values: Record<string, string>): Html {
  return html`<form class="filters" method="get" action="${action}" role="search" aria-label="Filters">
    ${fields.map(({ name, label, options, type = 'text', placeholder = '', suggestions = [] }) => {
      const value = values[name] ?? '';
      const choices = options?.map((each) => ({ value: each, name: each.replaceAll('_', ' ') }));
      if (choices !== undefined) return selectField({ id: `f-${name}`, name, label, none: 'all', value }, choices);
      return html`<div class="field"><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" type="${type}" value="${value}" placeholder="${placeholder}" ${suggestions.length > 0 ? raw(`list="l-${name}"`) : ''} />${suggestList(name, suggestions)}</div>`;
    })}
    <div class="field buttons"><button type="submit">Filter</button> <a class="button quiet" href="${action}">Clear</a></div>
  </form>`;
}
