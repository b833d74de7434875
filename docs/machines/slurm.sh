#!/bin/bash
#SBATCH --job-name=append
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --signal=TERM@60

set -euo pipefail
ulimit -n "$(ulimit -Hn)"
exec srun --mpi=pmix append 40000 100M "postgresql://append@${1:?the server}/app" \
    --read none --verify rows --out "$SLURM_SUBMIT_DIR/append-$SLURM_JOB_ID"
