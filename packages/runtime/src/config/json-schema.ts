import { z } from 'zod';
import { configSchema } from './schema.ts';

/**
 * keywarden.yaml as JSON Schema (draft 7), for editors. What takes more than one setting, such as that a rule has exactly one
 * condition, it does not say.
 */
export function configJsonSchema(): object {
  return {
    title: 'keywarden.yaml',
    ...z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any', target: 'draft-7' }),
  };
}
