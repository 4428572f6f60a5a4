# SPDX-License-Identifier: BSD-3-Clause
# Bash completion for csz(1): source it, or install it as csz in bash-completion's folder.  Commands, then
# each command's options, the values of those that have few, and file names elsewhere.

_csz() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local commands="compress decompress info compare analyze verify test bench hdf5 help"
    local command=${COMP_WORDS[1]} options="" words="" files="" i
    COMPREPLY=()

    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$current")
        return
    fi

    # "--mode=rel" comes as three words where = breaks them.
    if [[ $current == "=" ]]; then
        current=""
    elif [[ $previous == "=" ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    case $command in
    compress)
        options="-o --output -r --recursive -t --type -d --dims -e --error --bound --size -m --mode -w --workflow -z --zstd -b --backend
            -j --threads --fill --verify --no-metadata --memory-limit --json -f --force -q --quiet -v --verbose -h --help"
        ;;
    decompress) options="-o --output -r --recursive --region --memory-limit -b --backend -j --threads --json -f --force -q --quiet -v --verbose -h --help" ;;
    info) options="-r --recursive -j --threads --memory-limit --json -h --help" ;;
    compare) options="-t --type -d --dims -e --error --bound --fill -j --threads --json -q --quiet -v --verbose -h --help" ;;
    analyze)
        options="-t --type -d --dims -e --error --bound -m --mode --fill --exact -b --backend -j --threads --json -h --help"
        ;;
    verify) options="-r --recursive --archives -b --backend -j --threads --memory-limit --json -q --quiet -v --verbose -h --help" ;;
    test) options="-r --recursive --memory-limit -b --backend -j --threads --json -q --quiet -v --verbose -h --help" ;;
    bench)
        options="-t --type -d --dims -e --error --bound -m --mode -w --workflow -z --zstd -b --backend -j --threads
            --fill --repeat --json -h --help"
        ;;
    hdf5)
        if ((COMP_CWORD == 2)); then
            mapfile -t COMPREPLY < <(compgen -W "repack cdvals decode --help" -- "$current")
            return
        fi
        options="--json -h --help"
        [[ ${COMP_WORDS[2]} != repack ]] ||
            options="-e --error --bound -m --mode -p --predictor -w --workflow --fill --var --skip --dry-run -f --force -q --quiet $options"
        [[ ${COMP_WORDS[2]} == decode || ${COMP_WORDS[2]} == repack ]] ||
            options="-e --error --bound -m --mode -w --workflow --fill --of -t --type -d --dims --optional $options"
        ;;
    help | --help | -h)
        mapfile -t COMPREPLY < <(compgen -W "${commands% help}" -- "$current")
        return
        ;;
    *) return ;;
    esac

    case $previous in
    -t | --type) words="f32 f64" ;;
    -m | --mode)
        words="abs rel psnr pwr exact"
        [[ $command != compress ]] || words="$words ratio"
        ;;
    -w | --workflow) words="auto huffman rle rle+vle" ;;
    -z | --zstd) words="zstd" ;;
    -b | --backend) words="auto cpu cuda" ;;
    --fill) words="auto none nan 1e20" ;;
    -d | --dims | --size | -e | --error | --bound | -j | --threads | --region | --memory-limit | --repeat) return ;;
    -o | --output | --of | --archives) files=all ;;
    *)
        if [[ $current == -* ]]; then
            words=$options
        else
            files=all
            case $command in
            decompress | info | test) files=archives ;;
            esac
        fi
        ;;
    esac

    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    if [[ $files == archives ]]; then
        for i in "${!COMPREPLY[@]}"; do
            [[ ${COMPREPLY[i]} == *.csz || -d ${COMPREPLY[i]} ]] || unset "COMPREPLY[i]"
        done
        COMPREPLY=("${COMPREPLY[@]}")
    fi
}

complete -F _csz csz
