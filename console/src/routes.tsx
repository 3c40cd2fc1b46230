// The addresses of the console. Tab, filter and selected thing are in the address, so each view can be sent as a link.
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  Navigate,
  Outlet,
} from '@tanstack/react-router';
import { HomeScreen } from './features/apps/home-screen.tsx';
import type { PreviewChoice } from './features/publishing/preview-screen.tsx';
import { Frame } from './shell/frame.tsx';
import { useLastWorkspace, useMe } from './shell/gate.tsx';
import { GoToFromAnywhere } from './shell/go-to.tsx';
import { buttonClass } from './ui/button.tsx';
import { Empty } from './ui/panel.tsx';

// A screen is loaded when it is first shown, except home, with which most visits begin.
const Editor = lazyRouteComponent(() => import('./shell/editor.tsx'), 'Editor');
const AppsScreen = lazyRouteComponent(() => import('./features/apps/apps-screen.tsx'), 'AppsScreen');
const TrashScreen = lazyRouteComponent(() => import('./features/apps/apps-screen.tsx'), 'TrashScreen');
const PreviewScreen = lazyRouteComponent(() => import('./features/publishing/preview-screen.tsx'), 'PreviewScreen');
const RevisionsScreen = lazyRouteComponent(
  () => import('./features/revisions/revisions-screen.tsx'),
  'RevisionsScreen',
);
const FilesScreen = lazyRouteComponent(() => import('./features/files/files-screen.tsx'), 'FilesScreen');
const DataScreen = lazyRouteComponent(() => import('./features/entities/data-screen.tsx'), 'DataScreen');
const UsersScreen = lazyRouteComponent(() => import('./features/app-users/users-screen.tsx'), 'UsersScreen');
const SettingsScreen = lazyRouteComponent(() => import('./features/publishing/settings-screen.tsx'), 'SettingsScreen');
const AccountScreen = lazyRouteComponent(() => import('./features/accounts/account-screen.tsx'), 'AccountScreen');

const Catalogue = lazyRouteComponent(() => import('./ui/catalogue.tsx'), 'Catalogue');

const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

function NotFound() {
  return (
    <main className="mx-auto max-w-form p-6">
      <Empty>
        <h1 className="font-semibold text-text">There is no page at this address</h1>
        <Link to="/" className={buttonClass()}>
          To the start
        </Link>
      </Empty>
    </main>
  );
}

const indexRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: function Index() {
    const ws = useLastWorkspace();
    if (ws !== undefined) return <Navigate to="/w/$ws" params={{ ws }} replace />;
    return (
      <main className="mx-auto max-w-form p-6">
        <Empty>
          <h1 className="font-semibold text-text">You are not a member of any workspace</h1>
          <p>Ask an admin of a workspace to invite you.</p>
        </Empty>
      </main>
    );
  },
});

const workspaceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/w/$ws',
  component: function Workspace() {
    const { ws } = workspaceRoute.useParams();
    return (
      <Frame key={ws} ws={ws}>
        <Outlet />
      </Frame>
    );
  },
});

const homeRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/',
  component: function Home() {
    const { ws } = workspaceRoute.useParams();
    const { workspaces } = useMe();
    const role = workspaces.find(({ id }) => id === ws)?.role;
    return <HomeScreen ws={ws} mayBuild={role === 'editor' || role === 'admin' || role === 'owner'} />;
  },
});

const appsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/apps',
  validateSearch: ({ q, folder }: Record<string, unknown>): { q?: string; folder?: string } => ({
    ...(typeof q === 'string' && q !== '' && { q }),
    ...(typeof folder === 'string' && { folder }),
  }),
  component: function Apps() {
    const { ws } = workspaceRoute.useParams();
    const { q = '', folder } = appsRoute.useSearch();
    return <AppsScreen ws={ws} q={q} folder={folder} />;
  },
});

const trashRoute = createRoute({ getParentRoute: () => workspaceRoute, path: '/trash', component: TrashScreen });

const editorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/editor/$app',
  component: function EditorOfApp() {
    const { app } = editorRoute.useParams();
    return (
      <Editor key={app} app_id={app}>
        <Outlet />
      </Editor>
    );
  },
});

const editorIndexRoute = createRoute({
  getParentRoute: () => editorRoute,
  path: '/',
  component: function EditorIndex() {
    const { app } = editorRoute.useParams();
    return <Navigate to="/editor/$app/preview" params={{ app }} replace />;
  },
});

const previewRoute = createRoute({
  getParentRoute: () => editorRoute,
  path: '/preview',
  validateSearch: ({ size, rev, user }: Record<string, unknown>): PreviewChoice => ({
    ...((size === 'phone' || size === 'tablet') && { size }),
    ...(Number.isSafeInteger(Number(rev)) && Number(rev) > 0 && { rev: Number(rev) }),
    ...(typeof user === 'string' && user !== '' && { user }),
  }),
  component: function Preview() {
    return <PreviewScreen choice={previewRoute.useSearch()} />;
  },
});

const revisionsRoute = createRoute({
  getParentRoute: () => editorRoute,
  path: '/revisions',
  component: function Revisions() {
    return <RevisionsScreen rev={undefined} />;
  },
});

const revisionRoute = createRoute({
  getParentRoute: () => editorRoute,
  path: '/revisions/$rev',
  component: function Revision() {
    return <RevisionsScreen rev={revisionRoute.useParams().rev} />;
  },
});

const filesRoute = createRoute({
  getParentRoute: () => editorRoute,
  path: '/files',
  validateSearch: (search: Record<string, unknown>): { path?: string } =>
    typeof search.path === 'string' ? { path: search.path } : {},
  component: function Files() {
    return <FilesScreen path={filesRoute.useSearch().path} />;
  },
});

const dataRoute = createRoute({
  getParentRoute: () => editorRoute,
  path: '/data',
  component: function DataOfApp() {
    return <DataScreen entity={undefined} view={{}} />;
  },
});

const entityRoute = createRoute({
  getParentRoute: () => editorRoute,
  path: '/data/$entity',
  validateSearch: ({ as, q }: Record<string, unknown>): { as?: string; q?: string } => ({
    ...(typeof as === 'string' && { as }),
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
  }),
  component: function Entity() {
    return <DataScreen entity={entityRoute.useParams().entity} view={entityRoute.useSearch()} />;
  },
});

const usersRoute = createRoute({ getParentRoute: () => editorRoute, path: '/users', component: UsersScreen });

const settingsRoute = createRoute({ getParentRoute: () => editorRoute, path: '/settings', component: SettingsScreen });

const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/account/$part',
  component: function Account() {
    const { user, workspaces } = useMe();
    const ws = useLastWorkspace();
    return (
      <>
        <AccountScreen email={user.email} fullName={user.full_name} workspaces={workspaces} />
        {ws !== undefined && <GoToFromAnywhere ws={ws} />}
      </>
    );
  },
});

const catalogueRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/account/components',
  component: Catalogue,
});

const routeTree = rootRoute.addChildren([
  indexRoute,
  workspaceRoute.addChildren([homeRoute, appsRoute, trashRoute]),
  editorRoute.addChildren([
    editorIndexRoute,
    previewRoute,
    revisionsRoute,
    revisionRoute,
    filesRoute,
    dataRoute,
    entityRoute,
    usersRoute,
    settingsRoute,
  ]),
  accountRoute,
  catalogueRoute,
]);

export const createConsoleRouter = () => createRouter({ routeTree, defaultPreload: false });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
