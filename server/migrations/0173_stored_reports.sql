-- module: browser-tests
call count_stored('test_executions', 'reports', '1800 + octet_length(flow_name) + octet_length(goal) + octet_length(url)');
call count_stored('test_reports', 'reports',
  '200 + coalesce(octet_length(result::text), 0) + coalesce(octet_length(report::text), 0)', 'result, report');
call count_stored('security_scans', 'reports', '1000');
call count_stored('security_results', 'reports',
  '600 + octet_length(coverage::text) + octet_length(rls::text) + octet_length(secrets::text) + octet_length(functions::text)
    + octet_length(dependencies::text) + octet_length(static_code::text) + octet_length(headers::text) + octet_length(numbers::text)
    + coalesce(octet_length(packages::text), 0)',
  'coverage, rls, secrets, functions, dependencies, static_code, headers, numbers, packages');
