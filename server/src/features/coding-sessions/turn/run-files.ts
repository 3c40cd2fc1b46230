// The list of repository files that are run implicitly, by CI, an installation or a build. Reviewers should not
// overlook changes to these files.

/** File names, matched case-insensitively and in any folder. Example: `services/api/Dockerfile`. */
const names = [
  // CI
  /^action\.ya?ml$/,
  /^\.gitlab-ci\.ya?ml$/,
  /^\.(travis|drone|appveyor|woodpecker)\.ya?ml$/,
  /^(appveyor|azure-pipelines|bitbucket-pipelines|cloudbuild)\.ya?ml$/,
  /^jenkinsfile/,
  // git and editor hooks
  /^\.pre-commit-(config|hooks)\.ya?ml$/,
  /^\.?lefthook(-local)?\.(ya?ml|toml|json)$/,
  /^\.(envrc|gitmodules|gitattributes)$/,
  // Node
  /^(package|package-lock|npm-shrinkwrap|deno|bunfig)\.(jsonc?|toml)$/,
  /^(yarn|deno|bun)\.lockb?$/,
  /^pnpm-(lock|workspace)\.ya?ml$/,
  /^\.(npmrc|yarnrc|yarnrc\.yml|pnpmfile\.c?js)$/,
  /^binding\.gyp$/,
  // Python
  /^(setup|noxfile)\.py$/,
  /^(setup\.cfg|pyproject\.toml|pipfile|tox\.ini)$/,
  /^requirements.*\.(txt|in)$/,
  /^(poetry|uv|pdm|pipfile|cargo|gemfile|composer|gradle|mix|flake)\.lock$/,
  // others
  /^(gnu)?makefile(\.(am|in|inc))?$/,
  /\.mk$/,
  /^(justfile|rakefile|gemfile|taskfile\.ya?ml|cmakelists\.txt)$/,
  /\.gemspec$/,
  /^(cargo\.toml|build\.rs|go\.(mod|sum|work)|composer\.json|pom\.xml|mvnw|gradlew)(\.cmd|\.bat)?$/,
  /^(build|settings)\.gradle(\.kts)?$/,
  /^(dockerfile|containerfile)|\.dockerfile$/,
  /^(docker-)?compose.*\.ya?ml$/,
];

const folders =
  /(^|\/)(\.github\/(workflows|actions)|\.gitlab|\.circleci|\.buildkite|\.woodpecker|\.husky|\.githooks|\.cargo|\.mvn|\.yarn|gradle\/wrapper|\.devcontainer|\.vscode)\//;

/** `path` is relative to the repository's root. */
export function runsByItself(path: string): boolean {
  const lower = path.toLowerCase();
  const name = lower.slice(lower.lastIndexOf('/') + 1);
  return folders.test(lower) || names.some((pattern) => pattern.test(name));
}
