import { HtmlValidate } from 'html-validate';

const validator = new HtmlValidate({
  extends: ['html-validate:standard', 'html-validate:a11y', 'html-validate:document'],
  rules: {
    // Scripts and styles come from the report itself.
    'require-sri': 'off',
    // A scrolling region in a section is no section of its own.
    'prefer-native-element': 'off',
  },
});

/** Of the HTML standard, which has at most three digits of a second. */
const validTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;

/** A section with a heading and no content. */
const emptySection = /<section>\s*<div class="title">\s*<h2>([^<]*)<\/h2>\s*<\/div>\s*<\/section>/g;

/** Returns what the HTML standard does not allow in a page, and what browsers therefore read as they like; and headings with nothing below. */
export async function findHtmlFaults(text: string): Promise<string[]> {
  const { results } = await validator.validateString(text);
  const faults = results.flatMap(({ messages }) =>
    messages.map(({ line, ruleId, message }) => `${ruleId}, line ${line}: ${message}`),
  );
  const times = [...text.matchAll(/<time[^>]* datetime="([^"]*)"/g)].map(([, at = '']) => at);
  const empty = [...text.matchAll(emptySection)].map(([, title]) => `nothing is below the heading ${title}`);
  return [...faults, ...empty, ...times.filter((at) => !validTime.test(at)).map((at) => `${at} is no datetime`)];
}
