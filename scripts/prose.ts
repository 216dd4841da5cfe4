import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { toString } from 'mdast-util-to-string';
import { gfmTable } from 'micromark-extension-gfm-table';
import { visit } from 'unist-util-visit';

// Checks what people read: words that have a better one, in every file of the project, and the length of sentences, in its pages.

const longestSentence = 35;
const longestMean = 18;

/** Words that the project does not use, with what it uses instead. */
const words: { not: RegExp; use: string }[] = [
  { not: /\bmend(s|ed|ing)?\b/i, use: 'fix, repair' },
  { not: /\bbeds?\b/i, use: 'fixture' },
  { not: /\bvictims?\b/i, use: 'crash process' },
  { not: /\btwins?\b/i, use: 'counter-test' },
  { not: /\bworlds?\b/i, use: 'simulation, scenario' },
  { not: /\bunattended\b/i, use: 'automatic' },
  { not: /\bgoesOn\b/, use: 'skipFailing' },
  { not: /\bsayings?\b/i, use: 'flash message' },
  { not: /\bwhoever\b/i, use: 'the person who, the process that' },
  { not: /\bcondemns?\b/i, use: 'flag' },
  { not: /\bhears\b/i, use: 'reads, is notified' },
  { not: /\bbears\b/i, use: 'has' },
  { not: /\bwhatever\b/i, use: 'any, every, even if' },
  { not: /\bof which\b/i, use: 'whose, each' },
  { not: /\bby (itself|themselves)\b/i, use: 'automatic, automatically' },
];

/** Names that others rely on, and data of other versions. */
const allowed = [/^db\/migrations\//, /^packages\/testkit\/data\//, /^patches\//, /^scripts\/prose\.ts$/];

const texts = /\.(ts|mjs|md|sql|sh|ya?ml|html|css|service|conf)$/;

interface Fault {
  place: string;
  why: string;
}

/** Returns the faults of all files of a checkout, less those that git ignores. */
export function findFaults(root: string): Fault[] {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  const read = list.split('\n').filter((file) => texts.test(file) && !allowed.some((each) => each.test(file)));
  return read.flatMap((file) => {
    const path = join(root, file);
    if (!existsSync(path)) return [];
    const text = readFileSync(path, 'utf8');
    const isPage = /^(README\.md|docs\/.*\.md)$/.test(file);
    return [...findWords(file, text), ...(isPage ? findLongSentences(file, text) : [])];
  });
}

function findWords(file: string, text: string): Fault[] {
  return text.split('\n').flatMap((line, index) =>
    words.flatMap(({ not, use }) => {
      const found = not.exec(line);
      return found === null ? [] : [{ place: `${file}:${index + 1}`, why: `"${found[0]}"; use: ${use}` }];
    }),
  );
}

/** Returns the sentences of a page's paragraphs and list items. */
function readSentences(markdown: string): string[] {
  const tree = fromMarkdown(markdown, { extensions: [gfmTable()], mdastExtensions: [gfmTableFromMarkdown()] });
  const sentences: string[] = [];
  const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
  visit(tree, 'paragraph', (paragraph) => {
    const text = toString(paragraph)
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/\be\.g\.|\bi\.e\./g, 'such as');
    for (const { segment } of segmenter.segment(text)) if (countWords(segment) > 0) sentences.push(segment.trim());
  });
  return sentences;
}

const countWords = (sentence: string) => (sentence.match(/[\p{L}\p{N}][^\s]*/gu) ?? []).length;

function findLongSentences(file: string, markdown: string): Fault[] {
  const sentences = readSentences(markdown);
  const long = sentences.filter((sentence) => countWords(sentence) > longestSentence);
  const mean = sentences.reduce((sum, sentence) => sum + countWords(sentence), 0) / Math.max(1, sentences.length);
  return [
    ...long.map((sentence) => ({ place: file, why: `${countWords(sentence)} words: ${sentence.slice(0, 100)}` })),
    ...(mean > longestMean
      ? [{ place: file, why: `${mean.toFixed(1)} words a sentence, more than ${longestMean}` }]
      : []),
  ];
}

if (import.meta.main) {
  const faults = findFaults(fileURLToPath(new URL('..', import.meta.url)));
  for (const { place, why } of faults) console.error(`${place}  ${why}`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
