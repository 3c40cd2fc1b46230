-- module: workflows
-- Steps get partitions by week. For two weeks, all of them belong to the first one.
select prepare_partitions('workflow_steps', 'run_id', 7);
