import { printableCell } from '@keywarden/runtime';

/** The width of the terminal in characters. Output to a file or another program has no limit: each row is one line there. */
function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

/** Narrower terminals are treated as this wide, in characters. */
const leastWidth = 40;

/**
 * Returns rows as columns, each as wide as its widest cell. The last column is not padded. If a line would be wider than the terminal, each row is a
 * block instead: the columns that fit, and below them the others with their names, wrapped. No cell is cut. A cell has no line breaks and no terminal
 * control characters.
 */
export function renderTable(headers: string[], given: string[][], width = terminalWidth()): string {
  const rows = given.map((row) => row.map(printableCell));
  const widths = headers.map((header, column) =>
    Math.max(header.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const most = Math.max(width, leastWidth);
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  const lines = [headers, ...rows].map(line);
  if (lines.every((each) => each.length <= most)) return lines.join('\n');
  const fitting = countFitting(widths, most);
  const below = (row: string[]) =>
    row.slice(fitting).flatMap((cell, index) => {
      const header = headers[fitting + index] ?? '';
      return cell === '' ? [] : wrap(`${header.toLowerCase()}: ${cell}`, most);
    });
  return [line(headers.slice(0, fitting)), ...rows.flatMap((row) => [line(row.slice(0, fitting)), ...below(row)])].join(
    '\n',
  );
}

/** Returns how many of the first columns fit in a line; at least one. */
function countFitting(widths: number[], most: number): number {
  let used = 0;
  const wide = widths.findIndex((width) => {
    used += width + 2;
    return used - 2 > most;
  });
  return Math.max(1, wide === -1 ? widths.length : wide);
}

const indent = '    ';

/** Returns a text as indented lines of at most this width. A longer word has its own line. */
function wrap(text: string, most: number): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.trim() !== '' && line.length + word.length > most) {
      lines.push(line.trimEnd());
      line = `${indent}  `;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()];
}
