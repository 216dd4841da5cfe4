import { printableCell } from '@keywarden/runtime';

/** Lays rows out in columns as wide as their widest cell; the last column runs on. A cell has one line, and nothing that a terminal obeys. */
export function renderTable(headers: string[], given: string[][]): string {
  const rows = given.map((row) => row.map(printableCell));
  const widths = headers.map((header, column) =>
    Math.max(header.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [headers, ...rows].map(line).join('\n');
}
