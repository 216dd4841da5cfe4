import { SingleBar } from 'cli-progress';

/** Shows a job's progress on standard error: a bar on a terminal, elsewhere a plain line at the end of a part. */
export interface Progress {
  part(label: string, unit: string): ProgressPart;
  note(line: string): void;
}

interface ProgressPart {
  /** `note` is optional text, such as the rows so far. */
  update(done: number, total: number, note?: string): void;
  end(summary: string): void;
}

export const silentProgress: Progress = {
  part: () => ({ update: () => undefined, end: () => undefined }),
  note: () => undefined,
};

/** Returns the progress on a stream. Without a terminal, `note` gets the lines. */
export function createProgress(
  stream: NodeJS.WriteStream,
  note: Progress['note'] = (line) => void stream.write(`${line}\n`),
): Progress {
  if (stream.isTTY) return barProgress(stream);
  return { note, part: (label) => ({ update: () => undefined, end: (summary) => note(`${label}: ${summary}`) }) };
}

function barProgress(stream: NodeJS.WriteStream): Progress {
  return {
    note: (line) => void stream.write(`${line}\n`),
    part(label, unit) {
      const format = `${label.padEnd(24)} {bar} {value}/{total} ${unit} {note}`;
      const bar = new SingleBar({
        format,
        stream,
        barsize: 24,
        hideCursor: true,
        clearOnComplete: true,
        etaBuffer: 50,
      });
      let started = false;
      return {
        update(done, total, note = '') {
          if (started) bar.setTotal(total);
          else bar.start(total, 0, { note });
          started = true;
          bar.update(done, { note });
        },
        end(summary) {
          if (started) bar.stop();
          stream.write(`${label}: ${summary}\n`);
        },
      };
    },
  };
}
