// Reads task lists and every type of task except calls.
import { readCall } from './calls.ts';
import type { RetryPolicy, SwitchCase, Task, Then, TryTask } from './model.ts';
import {
  type Fields,
  fault,
  isObject,
  type Place,
  readExpressionOr,
  readInteger,
  readObject,
  readRequiredExpression,
  readTemplate,
  readText,
  step,
  withVariables,
} from './source.ts';
import { readDuration, readErrorType, readLiteralText, readVariableName } from './values.ts';

const maxTasks = 200;
const maxDepth = 10;
const maxNameLength = 100;
const flow = ['continue', 'exit', 'end'] as const;

/** A task's depth, and the names of all tasks in its list. */
interface Position {
  readonly depth: number;
  readonly siblings: ReadonlySet<string>;
}

/** Reads `[{"first": {…}}, {"second": {…}}]`. */
export function readTasks(list: Place, depth: number): Task[] {
  if (depth > maxDepth) {
    fault(list, `must not nest tasks more than ${maxDepth} levels deep`);
    return [];
  }
  const named = readNamed(list);
  const siblings = new Set(named.map(({ name }) => name));
  return named.flatMap(({ name, place }) => readTask(name, place, { depth, siblings }) ?? []);
}

/** Reads a list of objects that each have one key, which is the entry's name. */
function readNamed(list: Place): { readonly name: string; readonly place: Place }[] {
  if (!Array.isArray(list.value) || list.value.length === 0) {
    fault(list, 'must be a non-empty list of objects, each with exactly one key, which is used as its name');
    return [];
  }
  const names = new Set<string>();
  return list.value.flatMap((value, index) => {
    const item = step(list, index, value);
    const [name, ...others] = isObject(value) ? Object.keys(value) : [];
    if (!isObject(value) || name === undefined || others.length > 0)
      return fault(item, 'must be an object with exactly one key, which is used as its name') ?? [];
    const place = step(item, name, value[name]);
    if (name === '' || name.length > maxNameLength)
      fault(place, `must have a name of 1 to ${maxNameLength} characters`);
    if (flow.some((word) => word === name)) fault(place, `must not have a reserved name (${flow.join(', ')})`);
    if (names.has(name)) fault(place, 'must have a name that is unique in this list');
    names.add(name);
    return [{ name, place }];
  });
}

const commonKeys = ['if', 'input', 'output', 'export', 'timeout', 'then'];

/** Each task type's keys. The first key identifies the type. `do` is last, because loops also have that key. */
const keysByType = {
  call: ['call', 'with'],
  set: ['set'],
  switch: ['switch'],
  for: ['for', 'while', 'do'],
  try: ['try', 'catch'],
  raise: ['raise'],
  wait: ['wait'],
  emit: ['emit'],
  do: ['do'],
} as const;
type TaskType = keyof typeof keysByType;
const taskTypes = Object.keys(keysByType) as TaskType[];
const unsupportedTypes = ['fork', 'listen', 'run'];

function readTask(name: string, place: Place, position: Position): Task | undefined {
  const { value, findings } = place;
  findings.taskCount += 1;
  if (findings.taskCount === maxTasks + 1) fault(place, `must not exceed the limit of ${maxTasks} tasks`);
  if (findings.taskCount > maxTasks) return undefined;
  if (!isObject(value)) return fault(place, 'must be an object');
  const unsupported = unsupportedTypes.find((type) => Object.hasOwn(value, type));
  if (unsupported !== undefined)
    return fault(step(place, unsupported, null), `is not supported; use one of ${taskTypes.join(', ')}`);
  const type = taskTypes.find((each) => Object.hasOwn(value, each));
  if (type === undefined) return fault(place, `must contain one of the keys ${taskTypes.join(', ')}`);
  const fields = readObject(place, [...keysByType[type], ...commonKeys]);
  if (fields === undefined) return undefined;
  const common = { name, path: place.path, ...readCommon(fields, position) };
  const own = readOwn(type, fields, position);
  if (own === undefined) return undefined;
  const task: Task = { ...common, ...own };
  findings.tasksByPath.set(task.path, task);
  return task;
}

function readCommon(fields: Fields, { siblings }: Position) {
  const [condition, timeout, then] = [fields.get('if'), fields.get('timeout'), fields.get('then')];
  const after = timeout && readObject(timeout, ['after'])?.require('after');
  return {
    if: condition && readRequiredExpression(condition),
    inputFrom: readPassing(fields.get('input'), 'from'),
    outputAs: readPassing(fields.get('output'), 'as'),
    exportAs: readPassing(fields.get('export'), 'as'),
    timeoutMs: after && readDuration(after, 1),
    then: then && readThen(then, siblings),
  };
}

/** Reads `{"from": …}` or `{"as": …}`. The value is an expression, or an object that contains expressions. */
function readPassing(place: Place | undefined, key: 'from' | 'as') {
  const made = place && readObject(place, [key])?.require(key);
  if (made === undefined) return undefined;
  return isObject(made.value) ? readTemplate(made) : readRequiredExpression(made) && readKnownText(made);
}

const readKnownText = ({ value }: Place): string => String(value);

function readThen(place: Place, siblings: ReadonlySet<string>): Then | undefined {
  const { value } = place;
  const word = flow.find((each) => each === value);
  if (word !== undefined) return word;
  if (typeof value === 'string' && siblings.has(value)) return { task: value };
  return fault(place, `must be one of ${flow.join(', ')}, or the name of a task in the same list`);
}

// ---- task types

/** A task type's fields, except those that all tasks have. */
type Own<Type extends TaskType> = WithoutCommon<Extract<Task, { type: Type }>>;
type WithoutCommon<Each> = Each extends Task ? Omit<Each, keyof Common> : never;
type Common = { name: string; path: string } & ReturnType<typeof readCommon>;

function readOwn(type: TaskType, fields: Fields, position: Position): Own<TaskType> | undefined {
  const place = fields.require(type);
  if (place === undefined) return undefined;
  switch (type) {
    case 'call': {
      const call = readCall(place, fields.require('with'));
      return call && { type, ...call };
    }
    case 'set':
      return readSet(place);
    case 'switch':
      return { type, cases: readCases(place, position.siblings) };
    case 'do':
      return { type, tasks: readTasks(place, position.depth + 1) };
    case 'for':
      return readFor(place, fields, position.depth);
    case 'try':
      return readTry(place, fields, position.depth);
    case 'raise':
      return readRaise(place);
    case 'wait': {
      const waitMs = readDuration(place);
      return waitMs === undefined ? undefined : { type, waitMs };
    }
    case 'emit':
      return readEmit(place);
  }
}

function readSet(place: Place): Own<'set'> | undefined {
  const set = readExpressionOr(place, (literal) =>
    isObject(literal.value) ? readTemplate(literal) : fault(literal, 'must be an object or an expression'),
  );
  return set === undefined ? undefined : { type: 'set', set };
}

function readCases(place: Place, siblings: ReadonlySet<string>): SwitchCase[] {
  const named = readNamed(place);
  return named.flatMap(({ name, place: each }, index) => {
    const fields = readObject(each, ['when', 'then']);
    const [when, then] = [fields?.get('when'), fields?.require('then')];
    if (fields !== undefined && when === undefined && index < named.length - 1)
      fault(each, 'must contain `when`, because only the last case can omit it');
    const next = then && readThen(then, siblings);
    if (next === undefined) return [];
    return [{ name, when: when && readRequiredExpression(when), then: next }];
  });
}

function readFor(place: Place, fields: Fields, depth: number): Own<'for'> | undefined {
  const loop = readObject(place, ['each', 'in', 'at']);
  const [eachPlace, atPlace, inPlace] = [loop?.get('each'), loop?.get('at'), loop?.require('in')];
  const each = eachPlace ? readVariableName(eachPlace) : 'item';
  const at = atPlace ? readVariableName(atPlace) : 'index';
  if (each !== undefined && each === at) fault(atPlace ?? place, 'must not be the same as `each`');
  const list = inPlace && readRequiredExpression(inPlace);
  const names = [each, at].filter((name) => name !== undefined);
  const [condition, body] = [fields.get('while'), fields.require('do')];
  const until = condition && readRequiredExpression(withVariables(condition, names));
  const tasks = body === undefined ? [] : readTasks(withVariables(body, names), depth + 1);
  if (each === undefined || at === undefined || list === undefined) return undefined;
  return { type: 'for', each, at, in: list, while: until, tasks };
}

function readTry(place: Place, fields: Fields, depth: number): Own<'try'> | undefined {
  const tasks = readTasks(place, depth + 1);
  const caught = fields.require('catch');
  const handler = caught && readCatch(caught, depth);
  return handler && { type: 'try', tasks, catch: handler };
}

function readCatch(place: Place, depth: number): TryTask['catch'] | undefined {
  const fields = readObject(place, ['errors', 'as', 'when', 'exceptWhen', 'retry', 'do']);
  if (fields === undefined) return undefined;
  const [errors, name, when, exceptWhen, retry, body] = [
    fields.get('errors'),
    fields.get('as'),
    fields.get('when'),
    fields.get('exceptWhen'),
    fields.get('retry'),
    fields.get('do'),
  ];
  const as = name === undefined || name.value === 'error' ? 'error' : readVariableName(name);
  const scoped = (inner: Place) => withVariables(inner, as === undefined ? [] : [as]);
  const filter = errors && readObject(errors, ['with'])?.require('with');
  const parts = {
    with: filter && readErrorFilter(filter),
    when: when && readRequiredExpression(scoped(when)),
    exceptWhen: exceptWhen && readRequiredExpression(scoped(exceptWhen)),
    retry: retry && readRetry(retry),
    tasks: body && readTasks(scoped(body), depth + 1),
  };
  return as === undefined ? undefined : { as, ...parts };
}

function readErrorFilter(place: Place): TryTask['catch']['with'] {
  const fields = readObject(place, ['type', 'status', 'title', 'detail']);
  if (fields === undefined) return undefined;
  const [type, status, title, detail] = ['type', 'status', 'title', 'detail'].map((key) => fields.get(key));
  return {
    type: type && readErrorType(type),
    status: status && readInteger(status, 100, 599),
    title: title && readLiteralText(title, 1_000),
    detail: detail && readLiteralText(detail, 1_000),
  };
}

const maxAttempts = 20;
const defaultDelayMs = 1_000;
const backoffs = ['constant', 'linear', 'exponential'] as const;

function readRetry(place: Place): RetryPolicy | undefined {
  const fields = readObject(place, ['delay', 'backoff', 'limit', 'jitter']);
  if (fields === undefined) return undefined;
  const [delay, backoff, limitPlace, jitter] = ['delay', 'backoff', 'limit', 'jitter'].map((key) => fields.get(key));
  const limit = limitPlace && readObject(limitPlace, ['attempt', 'duration']);
  const [attempt, duration] = [limit?.get('attempt'), limit?.get('duration')];
  const count = attempt && readObject(attempt, ['count'])?.require('count');
  return {
    delayMs: (delay && readDuration(delay)) ?? defaultDelayMs,
    backoff: (backoff && readBackoff(backoff)) ?? 'constant',
    maxAttempts: (count && readInteger(count, 1, maxAttempts)) ?? maxAttempts,
    maxDurationMs: duration && readDuration(duration, 1),
    jitterMs: jitter && readJitter(jitter),
  };
}

/** Reads `{"exponential": {}}`. */
function readBackoff(place: Place): RetryPolicy['backoff'] | undefined {
  const fields = readObject(place, backoffs);
  if (fields === undefined) return undefined;
  const [chosen, ...others] = backoffs.filter((name) => fields.get(name) !== undefined);
  const settings = chosen && fields.get(chosen);
  if (settings === undefined || others.length > 0)
    return fault(place, `must contain exactly one of the keys ${backoffs.join(', ')}`);
  if (!isObject(settings.value) || Object.keys(settings.value).length > 0)
    return fault(settings, 'must be an empty object');
  return chosen;
}

function readJitter(place: Place): RetryPolicy['jitterMs'] {
  const fields = readObject(place, ['from', 'to']);
  const [fromPlace, toPlace] = [fields?.require('from'), fields?.require('to')];
  const [from, to] = [fromPlace && readDuration(fromPlace), toPlace && readDuration(toPlace)];
  if (from === undefined || to === undefined) return undefined;
  return from > to ? fault(place, 'must have a `from` that is no longer than `to`') : { from, to };
}

function readRaise(place: Place): Own<'raise'> | undefined {
  const error = readObject(place, ['error'])?.require('error');
  const fields = error && readObject(error, ['type', 'status', 'title', 'detail']);
  if (fields === undefined) return undefined;
  const [typePlace, statusPlace] = [fields.require('type'), fields.require('status')];
  const [titlePlace, detailPlace] = [fields.get('title'), fields.get('detail')];
  const type = typePlace && readExpressionOr(typePlace, readErrorType);
  const status = statusPlace && readExpressionOr(statusPlace, (literal) => readInteger(literal, 100, 599));
  const title = titlePlace && readExpressionOr(titlePlace, (literal) => readText(literal, 1_000));
  const detail = detailPlace && readExpressionOr(detailPlace, (literal) => readText(literal, 1_000));
  return type === undefined || status === undefined
    ? undefined
    : { type: 'raise', error: { type, status, title, detail } };
}

function readEmit(place: Place): Own<'emit'> | undefined {
  const event = readObject(place, ['event'])?.require('event');
  const given = event && readObject(event, ['with'])?.require('with');
  const fields = given && readObject(given, ['type', 'data']);
  const [typePlace, data] = [fields?.require('type'), fields?.get('data')];
  const eventType = typePlace && readExpressionOr(typePlace, readEventType);
  if (eventType === undefined) return undefined;
  return { type: 'emit', eventType, data: data === undefined ? null : readTemplate(data) };
}

const eventTypeForm = /^[A-Za-z][A-Za-z0-9._-]{0,99}$/;

/** Reads an emitted event's type, such as `order.paid`. */
export function readEventType(place: Place): string | undefined {
  const { value } = place;
  if (typeof value !== 'string' || !eventTypeForm.test(value))
    return fault(place, 'must be 1 to 100 letters, digits, dots, hyphens and underscores, beginning with a letter');
  return value;
}
