// Decides whether the app's built-in integrations are called from code that an anonymous visitor can reach. A call in a
// function is reachable unless the caller is verified. A call in a page is reachable unless the file checks who is
// signed in.
import ts from 'typescript';
import type { IntegrationUse } from './item.ts';
import type { Module } from './program.ts';
import { dottedName, nodesOf } from './syntax.ts';

const integrationCall = /(^|\.)integrations\.Core\.\w+$/;
const integrationImport = /^@?\/?(.*\/)?integrations(\/Core)?(\.[jt]s)?$/;
const asksWhoIsSignedIn =
  /auth\.(me|user|isAuthenticated|redirectToLogin|requireAuth)|useAuth\(|useUser\(|useCurrentUser\(|useSession\(|RequireAuth|ProtectedRoute|User\.me\(|currentUser/;

export type IntegrationUseOfFile = 'none' | 'checked' | 'open';

/** `isChecked` is true if every handler with an effect verifies its caller. `undefined` if there are no handlers. */
export function integrationUseOf(module: Module, isChecked: boolean | undefined): IntegrationUseOfFile {
  if (!callsIntegration(module)) return 'none';
  if (isChecked !== undefined) return isChecked ? 'checked' : 'open';
  return asksWhoIsSignedIn.test(module.source.text) ? 'checked' : 'open';
}

function callsIntegration(module: Module): boolean {
  if (!/integrations/i.test(module.source.text)) return false;
  return nodesOf(module.source).some((node) => {
    if (!ts.isCallExpression(node)) return false;
    const callee = node.expression;
    if (integrationCall.test(dottedName(callee)) || isOfImported(module, callee)) return true;
    return ts.isIdentifier(callee) && isImported(module, callee);
  });
}

function isImported(module: Module, name: ts.Identifier): boolean {
  const specifier = module.scopes.find(name)?.imported?.specifier;
  return specifier !== undefined && integrationImport.test(specifier);
}

/** Whether the call is `Core.InvokeLLM()`, with `Core` from the client. */
function isOfImported(module: Module, callee: ts.Expression): boolean {
  if (!ts.isPropertyAccessExpression(callee) || !ts.isIdentifier(callee.expression)) return false;
  const declaration = module.scopes.find(callee.expression);
  const isCore = declaration?.definitions.some(({ value, path }) =>
    /integrations/.test([...path, dottedName(value)].join('.')),
  );
  return isImported(module, callee.expression) || (callee.expression.text === 'Core' && isCore === true);
}

export function combineIntegrationUse(uses: readonly IntegrationUseOfFile[], isComplete: boolean): IntegrationUse {
  if (uses.includes('open')) return 'needs_changes';
  if (!isComplete) return 'unknown';
  return uses.includes('checked') ? 'compatible' : 'not_used';
}
