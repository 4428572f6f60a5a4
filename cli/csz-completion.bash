# SPDX-License-Identifier: BSD-3-Clause
# Bash completion for csz(1): source it, or install it as csz in bash-completion's folder.  Commands, then
# each command's options as its help lists them, the values of those that have few, and file names elsewhere.

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
    compress | decompress | info | compare | analyze | verify | test | bench) ;;
    hdf5)
        if ((COMP_CWORD == 2)); then
            mapfile -t COMPREPLY < <(compgen -W "repack cdvals decode --help" -- "$current")
            return
        fi
        ;;
    help | --help | -h)
        mapfile -t COMPREPLY < <(compgen -W "${commands% help}" -- "$current")
        return
        ;;
    *) return ;;
    esac
    [[ $current != -* ]] ||
        options=$("$1" "$command" --help 2>/dev/null | sed -nE 's/^ +((-[a-z]), )?(--[a-z0-9-]+)( .*)?$/\2 \3/p')

    case $previous in
    -t | --type) words="f32 f64" ;;
    -m | --mode)
        words="abs rel psnr pwr exact"
        [[ $command != compress ]] || words="$words ratio"
        ;;
    -p | --predictor) words="lorenzo pyramid auto" ;;
    -w | --workflow) words="auto huffman rle rle+vle" ;;
    -z | --zstd) words="zstd" ;;
    -b | --backend) words="auto cpu cuda" ;;
    --fill) words="auto none nan 1e20" ;;
    -d | --dims | --size | -e | --error | --bound | --floor | -j | --threads | --region | --level) return ;;
    --memory-limit | --repeat | --var | --skip) return ;;
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
