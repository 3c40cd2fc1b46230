// Matches a module's sinks with the values that reach them, including through function calls. If a sink's value
// is a parameter, every call to that function becomes a sink, in this module and in modules that import it.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import { findHandlers, type Handler, isBackendPath } from './handlers.ts';
import type { Label, Origin } from './origins.ts';
import { findCallees, type Module } from './program.ts';
import { replaceParameter } from './returned-values.ts';
import type { Sink } from './sink.ts';
import { sinksAt } from './sinks.ts';
import { isFromRequest } from './sources.ts';
import { type FunctionNode, nodesOf } from './syntax.ts';

export interface Hit {
  readonly rule: Sink['rule'];
  readonly at: ts.Node;
  readonly label: Label;
  /** The expression where the untrusted value enters. */
  readonly source: ts.Node;
}

/** A sink that a function's parameter reaches. */
interface ParameterSink {
  readonly sink: Sink;
  readonly origin: Origin;
}

interface Summary {
  readonly hits: readonly Hit[];
  readonly handlers: readonly Handler[];
  readonly parameterSinks: ReadonlyMap<FunctionNode, readonly ParameterSink[]>;
}

export interface Analysis {
  /**
   * Returns everything found while analysing this module, whether in the module itself or in the modules that it uses.
   */
  analyse(module: Module): Summary;
}

export function createAnalysis(flow: Flow): Analysis {
  const summaries = new WeakMap<Module, Summary>();

  function analyse(module: Module): Summary {
    const known = summaries.get(module);
    if (known !== undefined) return known;
    const handlers = findHandlers(flow.program, module);
    for (const { fn, style } of handlers) if (fn.getSourceFile() === module.source) flow.handlers.set(fn, style);
    const state = { hits: [] as Hit[], handlers, parameterSinks: new Map<FunctionNode, ParameterSink[]>() };
    summaries.set(module, state); // in a circular import, the module sees only the results so far
    const isBackend = handlers.length > 0 || isBackendPath(module.path);
    const calls = readModule(flow, module, isBackend, state);
    followCalls(flow, calls, state, (fn) => {
      const owner = flow.program.moduleOf(fn);
      return (owner === module ? state : analyse(owner)).parameterSinks.get(fn) ?? [];
    });
    followForeignHandlers(flow, module, handlers, state, analyse);
    return state;
  }

  return { analyse };
}

interface State {
  readonly hits: Hit[];
  readonly parameterSinks: Map<FunctionNode, ParameterSink[]>;
}

type OwnCall = { readonly call: ts.CallExpression; readonly callees: readonly FunctionNode[] };

/** Visits every sink once. Returns the calls to the app's own functions. */
function readModule(flow: Flow, module: Module, isBackend: boolean, state: State): readonly OwnCall[] {
  const calls: OwnCall[] = [];
  const context = { flow, module, isBackend };
  for (const node of nodesOf(module.source)) {
    for (const sink of sinksAt(context, node)) {
      for (const origin of flow.originsOf(sink.value, sink.path)) record(state, sink, origin);
    }
    if (ts.isCallExpression(node)) {
      const callees = findCallees(flow.program, node);
      if (callees.length > 0) calls.push({ call: node, callees });
    }
  }
  return calls;
}

const maxSinksOfFunction = 50;

function record(state: State, sink: Sink, origin: Origin): void {
  if ((origin.safeFor & sink.use) !== 0 || (sink.onlyParts === true && !origin.isPart)) return;
  if (origin.label !== 'parameter') {
    if (!sink.labels.includes(origin.label)) return;
    if (!state.hits.some((hit) => hit.rule === sink.rule && hit.at === sink.at)) {
      state.hits.push({ rule: sink.rule, at: sink.at, label: origin.label, source: origin.at });
    }
    return;
  }
  const fn = origin.parameter?.fn;
  if (fn === undefined) return;
  const listed = state.parameterSinks.get(fn) ?? [];
  state.parameterSinks.set(fn, listed);
  const isKnown = listed.some((each) => each.sink === sink && sameParameter(each.origin, origin));
  if (!isKnown && listed.length < maxSinksOfFunction) listed.push({ sink, origin });
}

const sameParameter = (a: Origin, b: Origin): boolean =>
  a.parameter?.index === b.parameter?.index &&
  a.parameter?.path.join('.') === b.parameter?.path.join('.') &&
  a.safeFor === b.safeFor;

const maxRounds = 6;

function followCalls(
  flow: Flow,
  calls: readonly OwnCall[],
  state: State,
  sinksOf: (fn: FunctionNode) => readonly ParameterSink[],
): void {
  const done = new Map<ts.CallExpression, number>();
  for (let round = 0; round < maxRounds; round += 1) {
    let isChanged = false;
    for (const { call, callees } of calls) {
      const sinks = callees.flatMap((fn) => sinksOf(fn).map((each) => ({ fn, ...each })));
      const from = done.get(call) ?? 0;
      if (sinks.length <= from) continue;
      done.set(call, sinks.length);
      isChanged = true;
      for (const { fn, sink, origin } of sinks.slice(callees.length > 1 ? 0 : from)) {
        for (const passed of replaceParameter(flow, origin, fn, call.arguments)) {
          record(state, placedSink(sink, origin, passed, call), passed);
        }
      }
    }
    if (!isChanged) return;
  }
}

/**
 * Decides where a fault is reported, which is usually the sink. If a function only passes SQL on, the fault is reported
 * where the string is built: `const run = (sql) => db.query(sql); run('select ' + name)` is reported at `run(…)`.
 */
function placedSink(sink: Sink, inner: Origin, passed: Origin, call: ts.CallExpression): Sink {
  const isComposedHere = !inner.isPart && passed.isPart;
  return sink.rule === 'code.sql-injection' && isComposedHere ? { ...sink, at: call } : sink;
}

/** Follows handlers that are imported from another module, as in `Deno.serve(handler)`. */
function followForeignHandlers(
  flow: Flow,
  module: Module,
  handlers: readonly Handler[],
  state: State,
  analyse: (module: Module) => Summary,
): void {
  for (const { fn, style } of handlers) {
    const owner = flow.program.moduleOf(fn);
    if (owner === module) continue;
    for (const { sink, origin } of analyse(owner).parameterSinks.get(fn) ?? []) {
      const { index = 0, path = [] } = origin.parameter ?? {};
      const { parameter: _, ...rest } = origin;
      if (isFromRequest(style, index, path)) record(state, sink, { ...rest, label: 'request' });
    }
  }
}
