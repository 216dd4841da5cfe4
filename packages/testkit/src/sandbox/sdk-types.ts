import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// For tests: the route types of the service's newer client package, parsed from its generated type declarations.

/** A type of the generated declarations, as far as responses need it. */
type Type =
  | { kind: 'object'; fields: Map<string, { type: Type; isOptional: boolean }> }
  | { kind: 'array'; of: Type }
  | { kind: 'union'; of: Type[] }
  | { kind: 'all'; of: Type[] }
  | { kind: 'literal'; value: string | number | boolean }
  | { kind: 'plain'; name: 'string' | 'number' | 'boolean' | 'null' | 'any' | 'nothing' }
  | { kind: 'named'; name: string };

export interface SdkTypes {
  /** Routes such as `GET /projects/{project_id}`. */
  routes: string[];
  /** Returns null if the status is declared for the route and the body matches its type. */
  findFault(route: string, status: number, body: unknown): string | null;
}

export function readSdkTypes(): SdkTypes {
  const folder = join(dirname(fileURLToPath(import.meta.resolve('@neon/sdk'))), 'client');
  const types = parseTypes(readFileSync(join(folder, 'types.gen.d.ts'), 'utf8'));
  const calls = readFileSync(join(folder, 'sdk.gen.js'), 'utf8');
  const responses = new Map<string, Type>();
  const call = /const (\w+) = \(options\) => \(options\??\.client \?\? client\)\.(\w+)\(\{[\s\S]*?url: "([^"]+)"/g;
  for (const [, name = '', method = '', url = ''] of calls.matchAll(call)) {
    const declared = types.get(`${name.slice(0, 1).toUpperCase()}${name.slice(1)}Responses`);
    if (declared !== undefined) responses.set(`${method.toUpperCase()} ${url}`, declared);
  }
  return {
    routes: [...responses.keys()],
    findFault(route, status, body) {
      const declared = responses.get(route);
      if (status >= 400 || declared?.kind !== 'object') return null;
      const answer = declared.fields.get(String(status));
      if (answer === undefined) return `status ${status} is not declared for ${route}`;
      return faultOf(body, answer.type, 'the body');
    },
  };

  function faultOf(value: unknown, type: Type, at: string): string | null {
    const wrong = (what: string) => `${at} must be ${what}`;
    switch (type.kind) {
      case 'named': {
        const named = types.get(type.name);
        return named === undefined ? `${at}: no type ${type.name}` : faultOf(value, named, at);
      }
      case 'plain':
        if (type.name === 'any') return null;
        if (type.name === 'nothing')
          return value === null || value === undefined || value === '' ? null : wrong('empty');
        if (type.name === 'null') return value === null ? null : wrong('null');
        return isOf[type.name](value) ? null : wrong(type.name);
      case 'literal':
        return value === type.value ? null : wrong(JSON.stringify(type.value));
      case 'array':
        if (!Array.isArray(value)) return wrong('an array');
        return firstOf(value.entries(), ([index, each]) => faultOf(each, type.of, `${at}[${index}]`));
      case 'union': {
        const faults = type.of.map((each) => faultOf(value, each, at));
        return faults.includes(null) ? null : wrong(`one of ${type.of.length} types: ${faults.join('; ')}`);
      }
      case 'all':
        return firstOf(type.of, (each) => faultOf(value, each, at));
      case 'object':
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong('an object');
        return firstOf(type.fields, ([name, { type: own, isOptional }]) => {
          const has = Object.hasOwn(value, name);
          if (!has) return isOptional ? null : `${at} must have ${name}`;
          return faultOf(Reflect.get(value, name), own, `${at}.${name}`);
        });
      default:
        return type satisfies never;
    }
  }
}

const isOf = {
  string: (value: unknown) => typeof value === 'string',
  number: (value: unknown) => typeof value === 'number',
  boolean: (value: unknown) => typeof value === 'boolean',
};

function firstOf<T>(all: Iterable<T>, find: (each: T) => string | null): string | null {
  for (const each of all) {
    const found = find(each);
    if (found !== null) return found;
  }
  return null;
}

/** Reads `export type Name = ...;` declarations: objects, arrays, unions, intersections, literals and names. */
function parseTypes(source: string): Map<string, Type> {
  const text = source.replace(/\/\*[\s\S]*?\*\//g, '');
  const types = new Map<string, Type>();
  for (const { 1: name = '', index, 0: head } of text.matchAll(/export type (\w+) = /g)) {
    const tokens = tokensFrom(text, index + head.length);
    types.set(name, union(tokens));
  }
  return types;
}

interface Tokens {
  peek(): string;
  next(): string;
}

function tokensFrom(text: string, from: number): Tokens {
  const token = /\s*('(?:[^'\\]|\\.)*'|[\w.-]+|=>|[^\s])/y;
  let at = from;
  const read = (): [string, number] => {
    token.lastIndex = at;
    const [, found = ''] = token.exec(text) ?? [];
    return [found, token.lastIndex];
  };
  return {
    peek: () => read()[0],
    next() {
      const [found, end] = read();
      at = end;
      return found;
    },
  };
}

function union(tokens: Tokens): Type {
  return several(tokens, '|', 'union', () => several(tokens, '&', 'all', () => postfix(tokens)));
}

function several(tokens: Tokens, mark: string, kind: 'union' | 'all', part: () => Type): Type {
  if (tokens.peek() === mark) tokens.next();
  const of = [part()];
  while (tokens.peek() === mark) {
    tokens.next();
    of.push(part());
  }
  const [only] = of;
  return of.length === 1 && only !== undefined ? only : { kind, of };
}

function postfix(tokens: Tokens): Type {
  let type = primary(tokens);
  while (tokens.peek() === '[') {
    tokens.next();
    // `Responses[keyof Responses]` is not useful here.
    const isArray = tokens.peek() === ']';
    while (tokens.next() !== ']');
    type = isArray ? { kind: 'array', of: type } : { kind: 'plain', name: 'any' };
  }
  return type;
}

const plain = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
  void: 'nothing',
  never: 'nothing',
} as const;

function primary(tokens: Tokens): Type {
  const token = tokens.next();
  if (token === '{') return object(tokens);
  if (token === '(') {
    const inner = union(tokens);
    tokens.next();
    return inner;
  }
  if (token.startsWith("'")) return { kind: 'literal', value: token.slice(1, -1) };
  if (/^-?\d/.test(token)) return { kind: 'literal', value: Number(token) };
  if (token === 'true' || token === 'false') return { kind: 'literal', value: token === 'true' };
  if (Object.hasOwn(plain, token)) return { kind: 'plain', name: plain[token as keyof typeof plain] };
  if (tokens.peek() === '<') {
    tokens.next();
    const inner = union(tokens);
    while (tokens.next() !== '>');
    return token === 'Array' ? { kind: 'array', of: inner } : { kind: 'plain', name: 'any' };
  }
  return token === 'unknown' || token === 'Blob' || token === 'File'
    ? { kind: 'plain', name: 'any' }
    : { kind: 'named', name: token };
}

function object(tokens: Tokens): Type {
  const fields = new Map<string, { type: Type; isOptional: boolean }>();
  while (tokens.peek() !== '}') {
    let name = tokens.next();
    if (name === 'readonly') name = tokens.next();
    if (name === '[') {
      while (tokens.next() !== ']');
      tokens.next();
      union(tokens); // fields of any name are not checked
    } else {
      const isOptional = tokens.peek() === '?';
      if (isOptional) tokens.next();
      tokens.next();
      fields.set(name.replace(/^'|'$/g, ''), { type: union(tokens), isOptional });
    }
    if (tokens.peek() === ';') tokens.next();
  }
  tokens.next();
  return { kind: 'object', fields };
}
