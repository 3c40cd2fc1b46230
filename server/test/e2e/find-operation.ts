// Finds the operation for a task described in words, as a reader of the OpenAPI document would: compares the task's
// words with the document's text about each operation. It knows nothing about Plinth and has no hints for individual
// tasks.

// biome-ignore lint/suspicious/noExplicitAny: The document is not typed.
type Json = any;

export interface FoundOperation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  /** The body's example. Undefined if the operation has no body. */
  readonly example: Json;
  /** The parameters' examples, by name. */
  readonly parameterExamples: Readonly<Record<string, Json>>;
}

interface Candidate extends FoundOperation {
  /** The weight of each word in the operation's description. */
  readonly words: ReadonlyMap<string, number>;
}

/**
 * A word's weight, by its position. Names and summaries describe an operation's purpose, and fields only its details.
 */
const weights = { name: 3, summary: 4, path: 2, tag: 1, description: 1.5, parameter: 0.7, field: 0.7 };

/** Returns a function that lists the operations for a task, best match first. */
export function createFinder(document: Json): (task: string) => FoundOperation[] {
  const candidates = listCandidates(document);
  // A rare word is a stronger hint than a common word.
  const rarity = (word: string): number =>
    Math.log(1 + candidates.length / (1 + candidates.filter(({ words }) => words.has(word)).length));
  return (task) => {
    const sought = [...new Set(toWords(task))].map((word) => [word, rarity(word)] as const);
    const score = ({ words }: Candidate): number =>
      sought.reduce((sum, [word, value]) => sum + value * (words.get(word) ?? 0), 0);
    return candidates
      .map((candidate) => ({ candidate, score: score(candidate) }))
      .sort((a, b) => b.score - a.score)
      .map(({ candidate }) => candidate);
  };
}

const listCandidates = (document: Json): Candidate[] =>
  Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({
      operationId: operation.operationId,
      method: method.toUpperCase(),
      path,
      example: readExample(document, operation.requestBody),
      parameterExamples: Object.fromEntries(
        listParameters(document, operation).map(({ name, example }) => [name, example]),
      ),
      words: weighWords(document, path, operation),
    })),
  );

const follow = (document: Json, node: Json): Json =>
  node?.$ref === undefined
    ? node
    : node.$ref
        .slice(2)
        .split('/')
        .reduce((at: Json, key: string) => at[key], document);

const listParameters = (document: Json, operation: Json): Json[] =>
  (operation.parameters ?? []).map((each: Json) => follow(document, each));

function readExample(document: Json, body: Json): Json {
  const { example, examples } = body?.content['application/json'] ?? {};
  return examples === undefined ? example : follow(document, examples.example).value;
}

function weighWords(document: Json, path: string, operation: Json): Map<string, number> {
  const body = follow(document, operation.requestBody?.content['application/json'].schema);
  const answer = follow(document, follow(document, operation.responses['200'])?.content?.['application/json']?.schema);
  const parts: [keyof typeof weights, string[]][] = [
    ['name', [operation.operationId]],
    ['summary', [operation.summary]],
    ['path', [path.replace(/\{\w+\}/g, '')]],
    ['tag', operation.tags],
    ['description', [operation.description ?? '']],
    ['parameter', listParameters(document, operation).map(({ name, description }: Json) => `${name} ${description}`)],
    ['field', [...listTexts(document, body), ...listTexts(document, answer)]],
  ];
  // A word counts once, with its highest weight, so long descriptions have no advantage.
  const words = new Map<string, number>();
  for (const [place, texts] of parts)
    for (const word of texts.flatMap(toWords)) words.set(word, Math.max(words.get(word) ?? 0, weights[place]));
  return words;
}

const listTexts = (document: Json, schema: Json): string[] =>
  Object.entries<Json>(schema?.properties ?? {}).flatMap(([name, property]) => [
    `${name} ${property.description} ${(property.enum ?? []).join(' ')}`,
    ...Object.keys(follow(document, property.items)?.properties ?? {}),
  ]);

/** `listAppUsers` and "the users of an app" yield the same words: lower case, split, without endings. */
const toWords = (text: string): string[] =>
  text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word.length > 1 && !emptyWords.has(word))
    .map(stem);

const stem = (word: string): string =>
  word
    .replace(/ies$/, 'y')
    .replace(/(ss|us)$/, '$1.')
    .replace(/(?<=\w{3})(ed|ing|es|s|e)$/, '')
    .replace(/\.$/, '')
    .replace(/([bdgmnprt])\1$/, '$1');

const emptyWords = new Set(
  'the an of to in on for and or is are be by with its it that this from at as who which what how all my our their one them me you your we us so not no has have do does only was were will can may must into out up'.split(
    ' ',
  ),
);
