// Cuts the start time of our processes to a third: loaded before any other module, by --import. Nothing depends on it.
import { enableCompileCache, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

// Caches stripped types and compiled code; without a writable folder nothing is cached.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/keywarden', import.meta.url)));

// For each of the 600 imports within and of drizzle-orm, Node parses its package.json of 180 kB again: to find that its files are modules, and where they are.
const found = new Map();
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context;
    if (/^\.\.?\/.*\.js$/.test(specifier) && parentURL.includes('/node_modules/drizzle-orm/'))
      return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
    if (!specifier.startsWith('drizzle-orm') || context.conditions.includes('require')) return next(specifier, context);
    // What a package's name means depends on the folder of the file that imports it.
    const key = `${specifier} ${new URL('.', parentURL).href}`;
    const known = found.get(key) ?? { ...next(specifier, context), shortCircuit: true };
    found.set(key, known);
    return known;
  },
});
