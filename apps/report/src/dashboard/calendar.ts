import { dayMs, dayNumbered, monthOf } from '@keywarden/core/values';
import type { ProjectCoverage } from '@keywarden/db/report';
import { html } from 'hono/html';
import type { Html, Part } from './html.ts';

/** The coverage of a day: complete, complete up to the last walk, partial, none, or outside the times at which the project was listed. */
type DayState = 'known' | 'recent' | 'partly' | 'unknown' | 'outside';

interface Span {
  fromMs: number;
  toMs: number;
}

/** A UTC day: its date, such as `2026-03-31`, its month, and its times. */
interface Day extends Span {
  date: string;
  month: string;
}

type CoveredDay = Pick<Day, 'date' | 'month'> & { state: DayState };

/** Returns the last 365 days until a time, oldest first. */
export function lastYear(untilMs: number): Day[] {
  const last = Math.floor(untilMs / dayMs);
  return Array.from({ length: 365 }, (_, index) => {
    const fromMs = (last - 364 + index) * dayMs;
    const date = dayNumbered(fromMs / dayMs);
    return { date, month: monthOf(date), fromMs, toMs: fromMs + dayMs };
  });
}

/** Returns the coverage of a project on each day. */
export function coverageByDay(project: ProjectCoverage, days: Day[]): CoveredDay[] {
  const { known, unknown, created_at: createdAt, last_listed_at: lastListedAt, gone_at: goneAt } = project;
  const knownSpans = known.map(toSpan);
  const unknownSpans = unknown.filter(({ reason }) => reason !== 'recent').map(toSpan);
  const recent = unknown.filter(({ reason }) => reason === 'recent').map(toSpan);
  const ends = [goneAt ?? lastListedAt, ...unknown.map(({ to }) => to)].map((end) => Date.parse(end));
  const life = { fromMs: Date.parse(createdAt), toMs: Math.max(...ends) };
  const stateOf = (day: Span): DayState => {
    if (day.toMs <= life.fromMs || day.fromMs > life.toMs) return 'outside';
    const isKnown = meets(knownSpans, day);
    if (meets(unknownSpans, day)) return isKnown ? 'partly' : 'unknown';
    if (meets(recent, day)) return 'recent';
    // A project that went away is listed as covered only up to its last listing.
    const lived = { fromMs: Math.max(day.fromMs, life.fromMs), toMs: Math.min(day.toMs, life.toMs) };
    return covers(knownSpans, lived) ? 'known' : isKnown ? 'partly' : 'unknown';
  };
  return days.map((day) => ({ date: day.date, month: day.month, state: stateOf(day) }));
}

function toSpan({ from, to }: { from: string; to: string }): Span {
  return { fromMs: Date.parse(from), toMs: Date.parse(to) };
}

/** Returns whether some spans, in their order, have every time of another. */
function covers(spans: Span[], { fromMs, toMs }: Span): boolean {
  let at = fromMs;
  for (const span of spans) if (span.fromMs <= at) at = Math.max(at, span.toMs);
  return at >= toMs;
}

/** Returns whether some spans have a time of another. A span may be one instant. */
function meets(spans: Span[], { fromMs, toMs }: Span): boolean {
  return spans.some((span) =>
    span.fromMs === span.toMs ? span.fromMs >= fromMs && span.fromMs < toMs : span.fromMs < toMs && span.toMs > fromMs,
  );
}

const words: Record<DayState, string> = {
  known: 'every operation is covered',
  recent: 'covered up to the last walk: later times were not read yet',
  partly: 'partly covered: operations may be missing',
  unknown: 'not covered',
  outside: 'before the project was created, or after it was last listed',
};

/** Returns a calendar of a project's days: a row per month, newest first, and a cell per day. */
export function renderCalendar(days: CoveredDay[], name: (month: string) => Html): Html {
  const months = [...byMonth(days)].toReversed();
  const rows = months.map(([month, ofMonth]) => ({
    name: name(month),
    cells: [
      blank(dayOfMonth(ofMonth[0]) - 1),
      ofMonth.map(({ date, state }) => cell(state, date, `${date}: ${words[state]}`)),
      blank(31 - dayOfMonth(ofMonth.at(-1))),
    ],
  }));
  return renderRows('day', rows);
}

const dayOfMonth = (day: CoveredDay | undefined) => Number(day?.date.slice(8));

const blank = (days: number) => (days === 0 ? '' : html`<td colspan="${days}"></td>`);

/** Returns a table of the coverage of projects by month. */
export function renderMonths(projects: { name: Html; days: CoveredDay[] }[]): Html {
  const ofProjects = projects.map(({ name, days }) => ({ name, months: byMonth(days) }));
  const months = [...new Set(ofProjects.flatMap((project) => [...project.months.keys()]))];
  const rows = ofProjects.map((project) => ({
    name: project.name,
    cells: months.map((month) => {
      const state = monthState(project.months.get(month) ?? []);
      return cell(state, month, words[state]);
    }),
  }));
  const heads = months.map((month) => html`<th scope="col">${month.slice(2)}</th>`);
  return renderRows('month', rows, html`<thead><tr><th scope="col">Project</th>${heads}</tr></thead>`);
}

const byMonth = (days: CoveredDay[]) => Map.groupBy(days, ({ month }) => month);

function monthState(days: CoveredDay[]): DayState {
  const inside = days.filter(({ state }) => state !== 'outside');
  if (inside.length === 0) return 'outside';
  if (inside.every(({ state }) => state === 'known' || state === 'recent'))
    return inside.some(({ state }) => state === 'recent') ? 'recent' : 'known';
  return inside.every(({ state }) => state === 'unknown') ? 'unknown' : 'partly';
}

const cell = (state: DayState, of: string, text: string) =>
  html`<td class="day ${state}" title="${of}: ${words[state]}"><span class="hidden">${text}</span></td>`;

function renderRows(by: 'day' | 'month', rows: { name: Html; cells: Part[] }[], head: Part = ''): Html {
  return html`<div class="scroll" role="region" aria-label="Coverage by ${by}" tabindex="0">
      <table class="calendar${by === 'month' ? ' months' : ''}">
        <caption class="hidden">Coverage by ${by}</caption>
        ${head}
        <tbody>
          ${rows.map(({ name, cells }) => html`<tr><th scope="row">${name}</th>${cells}</tr>`)}
        </tbody>
      </table>
    </div>
    <ul class="legend">
      ${Object.entries(words).map(([state, text]) => html`<li><span class="day ${state}"></span> ${text}</li>`)}
    </ul>`;
}
