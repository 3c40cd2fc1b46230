// Finds the faults in one of an app's files, and presents them. Runs in the child process.
import type ts from 'typescript';
import type { Finding } from '../finding.ts';
import { type Analysis, createAnalysis, type Hit } from './analysis.ts';
import { checkCors, checkHandlers } from './backend.ts';
import { fingerprintOf } from './fingerprints.ts';
import type { Flow } from './flow.ts';
import { type IntegrationUseOfFile, integrationUseOf } from './integrations.ts';
import type { CodeItem, FunctionIssue, FunctionItem } from './item.ts';
import { checkPlaces } from './places.ts';
import { createProgram, type Program } from './program.ts';
import { codeRules, functionRules } from './rules.ts';
import { snippetOf } from './snippet.ts';
import { endLineOf, lineOf, statementOf } from './syntax.ts';
import { createFlow, maxSteps } from './values.ts';

export interface FileFindings {
  readonly functions: readonly Finding<FunctionItem>[];
  readonly staticCode: readonly Finding<CodeItem>[];
  readonly integrations: IntegrationUseOfFile;
  /** False if the file has syntax errors, or if not all of its values could be traced. */
  readonly isComplete: boolean;
}

export interface AppReader {
  readonly program: Program;
  /** Some findings may be in other files, in functions that this file calls. */
  read(path: string): FileFindings;
}

export function createAppReader(): AppReader {
  const program = createProgram();
  let flow: Flow = createFlow(program);
  let analysis: Analysis = createAnalysis(flow);
  let filesRead = 0;
  return {
    program,
    read(path) {
      // Cached results from other files are dropped from time to time, so memory use does not grow with the app.
      filesRead += 1;
      if (filesRead % 200 === 0) {
        flow = createFlow(program);
        analysis = createAnalysis(flow);
      }
      return readFile(program, flow, analysis, path);
    },
  };
}

function readFile(program: Program, flow: Flow, analysis: Analysis, path: string): FileFindings {
  flow.budget.left = maxSteps;
  flow.memo.clear();
  const module = program.open(path);
  if (module === undefined) return { functions: [], staticCode: [], integrations: 'none', isComplete: false };
  const { hits, handlers } = analysis.analyse(module);
  const reflected = hits.filter(({ rule }) => rule === 'open_cors');
  const unchecked = checkHandlers(flow, module, handlers);
  const all = [
    ...hits.filter(({ rule }) => rule !== 'open_cors'),
    ...unchecked,
    ...checkCors(flow, module, reflected),
    ...checkPlaces(flow, module, hits),
  ];
  const isChecked = handlers.every((handler) => handler.isMiddleware) ? undefined : unchecked.length === 0;
  return {
    functions: all.filter(isFunctionHit).map(presentFunction),
    staticCode: all.filter(isCodeHit).map(presentCode),
    integrations: integrationUseOf(module, isChecked),
    isComplete: !module.hasSyntaxErrors && flow.budget.left > 0,
  };
}

type FunctionHit = Hit & { readonly rule: FunctionIssue };
type CodeHit = Hit & { readonly rule: keyof typeof codeRules };

const isFunctionHit = (hit: Hit): hit is FunctionHit => hit.rule in functionRules;
const isCodeHit = (hit: Hit): hit is CodeHit => hit.rule in codeRules;

function presentFunction({ rule: issue, at, source }: FunctionHit): Finding<FunctionItem> {
  const { title, description, recommendation, severity } = functionRules[issue];
  const file_path = at.getSourceFile().fileName;
  // For a secret inside the response, its own position is more helpful than the start of the response.
  const isInside =
    issue === 'secret_in_response' &&
    source.getSourceFile() === at.getSourceFile() &&
    source.pos >= at.pos &&
    source.end <= at.end;
  const line = lineOf(isInside ? source : at);
  const rule_id = `functions.${issue.replaceAll('_', '-')}`;
  return {
    rule_id,
    severity,
    title,
    description,
    recommendation,
    ...fingerprintOf(rule_id, at),
    position: { path: file_path, line },
    item: { file_path, line, function_name: functionNameOf(file_path), issue },
  };
}

/** Returns `pay` for `functions/pay.ts` and `functions/pay/index.ts`. */
function functionNameOf(path: string): string {
  const name = path.replace(/^.*?functions\//, '').replace(/(\/index)?\.[cm]?[jt]sx?$/, '');
  return name === '' ? path : name;
}

function presentCode({ rule, at, label, source }: CodeHit): Finding<CodeItem> {
  const { category, severity, title, description, recommendation } = codeRules[rule];
  const file_path = at.getSourceFile().fileName;
  const { confidence, verdict } = certaintyOf(at, source, label);
  const line_start = lineOf(at);
  return {
    rule_id: rule,
    severity,
    title,
    description,
    recommendation,
    ...fingerprintOf(rule, at),
    position: { path: file_path, line: line_start },
    item: { file_path, line_start, line_end: endLineOf(at), category, confidence, snippet: snippetOf(at), verdict },
  };
}

/**
 * A finding is confirmed only if the value enters in the same statement that uses it, so nothing in between can have
 * changed it.
 */
function certaintyOf(at: ts.Node, source: ts.Node, label: Hit['label']): Pick<CodeItem, 'confidence' | 'verdict'> {
  if (label === 'stored') return { confidence: at === source ? 'medium' : 'low', verdict: 'unverified' };
  const isSameStatement = source.getSourceFile() === at.getSourceFile() && statementOf(source) === statementOf(at);
  return isSameStatement ? { confidence: 'high', verdict: 'confirmed' } : { confidence: 'medium', verdict: 'likely' };
}
